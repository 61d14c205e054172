// What a thread waits for that no person decides, in words.

import type { Schemas } from "../api/client";

export type Wait = Pick<
  Schemas["Gate"],
  "kind" | "name" | "task" | "signal" | "text" | "call" | "expiresAt" | "decision" | "state" | "why"
>;

/** isRetry tells the wait before another attempt from a sleep. */
export const isRetry = (gate: Pick<Wait, "kind" | "name">) => gate.kind === "timer" && /(^|>)\$retry/.test(gate.name);

/** isStart tells the wait before a run that begins later from a sleep. */
export const isStart = (gate: Pick<Wait, "kind" | "name" | "task">) =>
  gate.kind === "timer" && gate.name === "start" && !gate.task;

/** whatOf names the program's own word for a wait, without those of the runtime. */
export const whatOf = (gate: Wait): string => {
  switch (gate.kind) {
    case "signal":
      return gate.signal ?? "";
    case "task":
      return gate.call?.task ?? "";
    case "thread":
      return gate.text ?? "";
    default:
      return (gate.text ?? "").split("\n", 1)[0] || gate.name.replace(/^.*>/, "").replace(/^(sleep:|\$.*|start$)/, "");
  }
};

/** titleOf says in one line what is waited for, or was. */
export function titleOf(gate: Wait): string {
  const open = gate.state === "open";
  const waits = open ? "Waits" : "Waited";
  switch (gate.kind) {
    case "signal":
      return `${waits} for the signal ${whatOf(gate)}`;
    case "task":
      return `${waits} for a worker that does ${whatOf(gate)}`;
    case "thread":
      return `${waits} for the end of the thread ${whatOf(gate)}`;
  }
  if (isRetry(gate)) return `${waits} to be tried again`;
  if (isStart(gate)) return open ? "Begins at a time" : "Began at a time";
  return open ? "Sleeps until a time" : "Slept until a time";
}

/** endOf says what ended a wait. It is empty while it is open. */
export function endOf(gate: Wait): string {
  const d = gate.decision;
  if (!d) return "";
  if (d.verdict === "cancel") return gate.why ? `It was withdrawn: ${gate.why}` : "It was withdrawn.";
  if (gate.kind === "timer") return "Its time came.";
  if (gate.kind === "thread") return d.verdict === "expire" ? "It was time to look again." : "That thread ended.";
  if (d.verdict === "expire") return gate.kind === "signal" ? "No signal came in time." : "No worker did it in time.";
  if (gate.kind === "signal") return "The signal came.";
  return d.verdict === "reject" ? `Its worker failed${d.reason ? `: ${d.reason}` : "."}` : "A worker did it.";
}

/** stateOf is the one word for how a wait stands. */
export function stateOf(gate: Wait): string {
  const d = gate.decision;
  if (!d) return "waiting";
  if (d.verdict === "cancel") return d.successor ? "superseded" : "withdrawn";
  if (d.verdict === "expire") return gate.kind === "timer" ? "done" : "expired";
  return d.verdict === "reject" ? "failed" : "done";
}
