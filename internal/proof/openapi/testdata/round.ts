// A round of a client that is made from /openapi.json: begin a program, see what it asks, approve it,
// and read the result.
import createClient from "openapi-fetch";
import type { paths, components } from "./api.js";

const { POSTHOUSE_SERVER, POSTHOUSE_TOKEN } = process.env;
const api = createClient<paths>({ baseUrl: POSTHOUSE_SERVER, headers: { Authorization: `Bearer ${POSTHOUSE_TOKEN}` } });

// got returns the data of an answer, or throws its problem.
async function got<T>(answer: Promise<{ data?: T; error?: components["schemas"]["Problem"] }>): Promise<T> {
  const { data, error } = await answer;
  if (error) {
    throw new Error(`${error.code}: ${error.detail} (${error.hint})`);
  }
  return data as T;
}

const programs = await got(api.GET("/api/programs", {}));
const program = programs.items[0]?.name;
if (!program) {
  throw new Error("no program is served");
}

const run = await got(api.POST("/api/programs/{program}/runs", {
  params: { path: { program } },
  body: { input: { Item: "lamp" }, id: "sale-1", labels: { tenant: "acme" } },
}));

// Events tell when the question is there.
const events = await got<ReadableStream<Uint8Array> | null>(api.GET("/api/events", { params: { query: { thread: run.thread, after: "start" } }, parseAs: "stream" }) as never);
let seen = "";
for await (const chunk of events as unknown as AsyncIterable<Uint8Array>) {
  seen += new TextDecoder().decode(chunk);
  if (seen.includes("event: gate")) {
    break;
  }
}

const inbox = await got(api.GET("/api/gates", { params: { query: { thread: run.thread, assignee: "me", state: "open" } } }));
const gate = inbox.items[0];
if (!gate?.may.includes("approve")) {
  throw new Error(`the inbox has ${JSON.stringify(inbox)}`);
}

const outcome = await got(api.POST("/api/gates/{id}/approve", { params: { path: { id: gate.id } }, body: { reason: "it is a good lamp" } }));
const thread = await got(api.GET("/api/threads/{id}", { params: { path: { id: run.thread } } }));
const history = await got(api.GET("/api/threads/{id}/checkpoints", { params: { path: { id: run.thread }, query: { state: true, limit: 1 } } }));

// What is wrong is a problem with a code, which the types know.
const { error } = await api.POST("/api/gates/{id}/approve", { params: { path: { id: gate.id } }, body: {} });
if (error?.code !== "decided") {
  throw new Error(`a second decision is ${JSON.stringify(error)}`);
}

console.log(JSON.stringify({ question: gate.text, outcome: "status" in outcome ? outcome.status : "", status: thread.status, state: history.items[0]?.state }));
