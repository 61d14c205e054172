// Sending decisions, and what is known of each by now. Nothing is shown as done before the server
// acknowledged it, and what was sent once is not sent again: there is no undo of a decision.

import { createContext, useSyncExternalStore } from "react";
import { api, ask, get, Problem, type Gate, type Grant, type Schemas } from "../api/client";
import { inSession } from "../data/gates";
import { queries } from "../data/query";
import { keep } from "../data/typed";
import { compact, type Node } from "../text/json";

export type Verb =
  "approve" | "reject" | "edit" | "respond" | "happened" | "redo" | "give-up" | "delegate" | "take-back";

/** moves says whether a verb moves the right to decide and leaves the question open. */
export const moves = (verb: Verb) => verb === "delegate" || verb === "take-back";

export type Draft = { verb: Verb; reason: string; to?: string; value?: Node };

export type Outcome =
  | { step: "sending"; verb: Verb }
  | { step: "refused"; verb: Verb; error: unknown }
  | { step: "acknowledged"; verb: Verb; state: string; text: string };

const outcomes = new Map<string, Outcome>();
const listeners = new Set<() => void>();

function put(id: string, o: Outcome | undefined) {
  if (o) outcomes.set(id, o);
  else outcomes.delete(id);
  for (const l of listeners) l();
}

/** useOutcome says what became of the decision that this tab sent about a gate, if it sent one. */
export const useOutcome = (id: string) =>
  useSyncExternalStore(
    (l) => {
      listeners.add(l);
      return () => listeners.delete(l);
    },
    () => outcomes.get(id),
  );

export const outcomeOf = (id: string) => outcomes.get(id);

/** forget takes back what is shown of a decision that was refused. */
export const forget = (id: string) => put(id, undefined);

const past: Record<Verb, string> = {
  approve: "approved",
  reject: "rejected",
  edit: "edited",
  respond: "answered",
  happened: "reported as done",
  redo: "ordered again",
  "give-up": "given up",
  delegate: "delegated",
  "take-back": "taken back",
};

/** done is the word for a verdict that was given. */
export const done = (verdict: string): string =>
  past[verdict as Verb] ?? (verdict === "cancel" ? "withdrawn" : verdict === "expire" ? "expired" : verdict);

/** stateOf is the one word for what became of a question. */
export function stateOf(gate: Grant["gate"] & { state?: string }, grant: Grant | undefined): string {
  const d = gate.decision;
  if (!d) return "waiting";
  if (d.verdict === "expire") return "expired";
  if (d.verdict === "cancel") return d.successor ? "superseded" : "withdrawn";
  if (d.verdict === "reject") return "rejected";
  if (d.verdict === "give-up") return "given up";
  if (grant && grant.licenses > 0 && grant.status !== "decided") return grant.status;
  return done(d.verdict);
}

/** send sends a decision with the digest of what was on the screen, and keeps what becomes of it. */
export async function send(gate: Gate, d: Draft, by: Send = byLogin): Promise<void> {
  if (outcomes.get(gate.id)?.step === "sending") return;
  put(gate.id, { step: "sending", verb: d.verb });
  try {
    put(gate.id, await by(gate, d));
    keep(gate.id, "");
    if (moves(d.verb)) void queries.invalidateQueries({ queryKey: ["people"] });
  } catch (error) {
    put(gate.id, { step: "refused", verb: d.verb, error });
  }
  void queries.invalidateQueries({ queryKey: ["live"] });
  void queries.invalidateQueries({ queryKey: ["sessions"] });
}

/** wasHeard says whether the server answered, so that a refusal is known to be one. */
export const wasHeard = (error: unknown) =>
  error instanceof Problem && error.body.status !== undefined && error.body.status < 500;

export type Send = (gate: Gate, d: Draft) => Promise<Outcome>;

/** Sending is how decisions are sent: by who is logged in, unless a page says otherwise. */
export const Sending = createContext<Send>(byLogin);

/** inSet sends one of many decisions: what follows is waited for a second, so that the others are sent. */
export const inSet: Send = (gate, d) => byLogin(gate, d, { Prefer: "wait=1" });

async function byLogin(gate: Gate, d: Draft, headers?: Record<string, string>): Promise<Outcome> {
  if (d.verb === "delegate") {
    const body = { to: d.to ?? "", reason: d.reason };
    const { warning } = await get(api.POST("/api/gates/{id}/delegate", { params: { path: { id: gate.id } }, body }));
    const text = `${body.to} decides in your place now.${warning ? ` Look at the name: ${warning}.` : ""}`;
    return { step: "acknowledged", verb: d.verb, state: "done", text };
  }
  if (d.verb === "take-back") {
    await get(api.POST("/api/gates/{id}/take-back", { params: { path: { id: gate.id } }, body: { reason: d.reason } }));
    return { step: "acknowledged", verb: d.verb, state: "done", text: "You decide it again." };
  }
  if (inSession(gate)) {
    const body = { reason: d.reason, ...(d.value ? { value: compact(d.value) } : {}) };
    const params = { path: { id: gate.id } };
    if (d.verb === "approve") await get(api.POST("/api/approvals/{id}/approve", { params, body }));
    else if (d.verb === "reject") await get(api.POST("/api/approvals/{id}/deny", { params, body }));
    else if (d.verb === "edit") await get(api.POST("/api/approvals/{id}/edit", { params, body }));
    else await get(api.POST("/api/approvals/{id}/respond", { params, body }));
    return { step: "acknowledged", verb: d.verb, state: "done", text: "The caller has the answer." };
  }
  const body = { reason: d.reason, shown: gate.hash, ...(d.value ? { value: compact(d.value) } : {}) };
  const init = { params: { path: { id: gate.id } }, body, ...(headers ? { headers } : {}) };
  try {
    const { data, status } = await ask<unknown>(post(d.verb, init));
    return followed(d.verb, status, data as Followed);
  } catch (error) {
    if (wasHeard(error)) throw error;
    const later = await import("./arrived").catch(() => undefined);
    return (await later?.arrived(gate, d)) ?? Promise.reject(error);
  }
}

function post(
  verb: Exclude<Verb, "delegate" | "take-back">,
  init: { params: { path: { id: string } }; body: Schemas["DecideBody"]; headers?: Record<string, string> },
) {
  switch (verb) {
    case "approve":
      return api.POST("/api/gates/{id}/approve", init);
    case "reject":
      return api.POST("/api/gates/{id}/reject", init);
    case "edit":
      return api.POST("/api/gates/{id}/edit", init);
    case "respond":
      return api.POST("/api/gates/{id}/respond", init);
    case "happened":
      return api.POST("/api/gates/{id}/happened", init);
    case "redo":
      return api.POST("/api/gates/{id}/redo", init);
    case "give-up":
      return api.POST("/api/gates/{id}/give-up", init);
  }
}

type Followed = { vote?: Schemas["Decision"]; missing?: number; gates?: string[]; head?: Schemas["Outcome"] };

function followed(verb: Verb, status: number, data: Followed): Outcome {
  const is = (state: string, text: string): Outcome => ({ step: "acknowledged", verb, state, text });
  if (data.vote) return is("waiting", `Your vote is on record. Approvals missing: ${data.missing ?? 0}.`);
  if (status === 202)
    return is(
      done(verb),
      data.gates ? "What follows waits for other questions of the same checkpoint." : "What follows has not ended yet.",
    );
  const head = data.head;
  const named = (s: string) => (head?.effects ?? []).filter((e) => e.status === s).map((e) => e.name);
  const said = [
    ["executed", "Executed"],
    ["released", "Still running"],
    ["unknown", "Outcome unknown"],
    ["decided", "Not done"],
  ].flatMap(([s, word]) => (named(s ?? "").length ? [`${word}: ${named(s ?? "").join(", ")}.`] : []));
  if (head?.status === "failed")
    return is("failed", [...said, `The run failed: ${head.error ?? "why is not on record"}`].join(" "));
  said.push(ends[head?.status ?? ""] ?? "");
  return is(
    named("unknown").length
      ? "unknown"
      : named("released").length
        ? "running"
        : named("executed").length
          ? "executed"
          : "decided",
    said.join(" "),
  );
}

const ends: Record<string, string> = {
  done: "The run is done.",
  waiting: "The run waits for something else.",
  running: "The run goes on.",
  interrupted: "The run is interrupted.",
  cancelled: "The run was cancelled.",
};

/** replacedBy names the gate that took the place of the one that a decision was refused for. */
export const replacedBy = (error: unknown): string | undefined =>
  error instanceof Problem ? error.body.gate : undefined;
