// Adds the licences of the fonts to those of the scripts, which Vite writes: what is embedded has its
// licences in one file.

import { appendFile, readFile } from "node:fs/promises";

for (const font of ["@fontsource-variable/inter", "@fontsource/ibm-plex-mono"]) {
  const text = await readFile(`node_modules/${font}/LICENSE`, "utf8");
  await appendFile("build/site/licences.md", `\n## ${font}\n\n${text}`);
}
