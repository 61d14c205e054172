// Writes what the binary says of its API to build/openapi.json, for the types of the calls.

import { mkdir, writeFile } from "node:fs/promises";
import { start } from "./server.mjs";

const server = await start(["--ephemeral"]);
const answer = await fetch(`${server.url}/openapi.json`);
await mkdir("build", { recursive: true });
await writeFile("build/openapi.json", await answer.text());
await server.stop();
