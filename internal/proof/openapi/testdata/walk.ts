// The walk of a client that is made from /openapi.json: begin a program, see what it asks, wait while the
// server is another process, approve by the link of a webhook, read the result, fork, and verify.
import { createInterface } from "node:readline/promises";
import createClient from "openapi-fetch";
import type { paths, components } from "./api.js";

type Problem = components["schemas"]["Problem"];

function connect(server: string, token: string) {
  return createClient<paths>({ baseUrl: server, headers: { Authorization: `Bearer ${token}` } });
}

// got returns the data of an answer, or throws its problem.
async function got<T>(answer: Promise<{ data?: T; error?: Problem }>): Promise<T> {
  const { data, error } = await answer;
  if (error) {
    throw new Error(`${error.code}: ${error.detail} (${error.hint})`);
  }
  return data as T;
}

// the returns what has to be there.
function the<T>(v: T | undefined | null, name: string): T {
  if (v === undefined || v === null) {
    throw new Error(`there is no ${name}`);
  }
  return v;
}

let api = connect(the(process.env.POSTHOUSE_SERVER, "server"), the(process.env.POSTHOUSE_TOKEN, "token"));

// until reads the events of a thread from its start until one is of a kind and has a text.
async function until(thread: string, kind: string, text: string) {
  const events = await got<ReadableStream<Uint8Array> | null>(api.GET("/api/events", { params: { query: { thread, after: "start" } }, parseAs: "stream" }) as never);
  const decoder = new TextDecoder();
  let seen = "";
  for await (const chunk of events as unknown as AsyncIterable<Uint8Array>) {
    seen += decoder.decode(chunk, { stream: true });
    if (seen.split("\n\n").some((e) => e.includes(`event: ${kind}`) && e.includes(text))) {
      return;
    }
  }
  throw new Error(`the events ended: ${seen}`);
}

async function question(thread: string, branch: string) {
  const inbox = await got(api.GET("/api/gates", { params: { query: { thread, assignee: "me", state: "open" } } }));
  return the(inbox.items.find((g) => g.branch === branch && g.may.includes("approve")), `question on ${branch} in ${JSON.stringify(inbox)}`);
}

const programs = await got(api.GET("/api/programs", {}));
const program = the(programs.items[0], "program").name;
const run = await got(api.POST("/api/programs/{program}/runs", {
  params: { path: { program } },
  body: { input: { Item: "lamp" }, id: "sale-1", labels: { tenant: "acme" } },
}));
await until(run.thread, "gate", "Sell lamp?");
const gate = await question(run.thread, "main");

// The server ends, and the next one has another address. A message of a webhook has come meanwhile.
console.log("waiting");
const lines = createInterface({ input: process.stdin });
const told: { server: string; token: string; approval: components["schemas"]["NotifyGate"]["approval"] } = JSON.parse((await lines[Symbol.asyncIterator]().next()).value);
lines.close();
api = connect(told.server, told.token);
const approval = the(told.approval, "approval");
const guest = connect(told.server, approval.token); // it has no login

const shown = await got(guest.GET("/api/gates/{id}/by-token", { params: { path: { id: gate.id } } }));
if (shown.gate.text !== gate.text || shown.for !== approval.for || shown.decision) {
  throw new Error(`the link shows ${JSON.stringify(shown)}`);
}
const decide = () => guest.POST("/api/gates/{id}/decide-by-token", { params: { path: { id: gate.id } }, body: { verdict: "approve", reason: "it is a good lamp" } });
const decided = await got(decide());

// A second decision is a problem with a code, which the types know.
const { error } = await decide();
if (error?.code !== "decided") {
  throw new Error(`a second decision is ${JSON.stringify(error)}`);
}
await until(run.thread, "checkpoint", `"status":"done"`);
const thread = await got(api.GET("/api/threads/{id}", { params: { path: { id: run.thread } } }));
const history = await got(api.GET("/api/threads/{id}/checkpoints", { params: { path: { id: run.thread }, query: { state: true, limit: 1 } } }));

// A fork of what asked, with another state, asks its own question.
const fork = await got(api.POST("/api/checkpoints/{id}/fork", { params: { path: { id: gate.checkpoint } }, body: { branch: "what-if", patch: { Item: "chair" } } }));
const forked = the("id" in fork ? fork.id : undefined, "checkpoint of the fork");
await got(api.POST("/api/checkpoints/{id}/resume", { params: { path: { id: forked } } }));
const other = await question(run.thread, "what-if");

let proof = await got(api.POST("/api/verifications", { body: { thread: run.thread } }));
while (proof.state === "running") {
  proof = await got(api.GET("/api/verifications/{id}", { params: { path: { id: proof.id } } }));
}

console.log(JSON.stringify({
  question: gate.text, by: decided.decision?.by, status: thread.status, state: history.items[0]?.state,
  fork: other.text, verified: proof.ok,
}));
