// The right to decide one question, which a link carries in its fragment: browsers send that nowhere. The token
// goes to the server in a header, without the cookies of whoever may be logged in here.

import createClient from "openapi-fetch";
import { get, type Gate, type Schemas } from "../api/client";
import { timed } from "../api/clock";
import type { paths } from "../api/schema";
import type { Draft, Outcome } from "../gate/decide";
import { compact } from "../text/json";
import type { Link } from "./address";

export type Asked = Schemas["TokenGate"];

const api = createClient<paths>({ baseUrl: location.origin, credentials: "omit", fetch: timed });
const values = "text" as const;
const bearer = (link: Link) => ({ Accept: "application/json", Authorization: `Bearer ${link.token}` });

/** look reads what is asked. It decides nothing. */
export const look = (link: Link): Promise<Asked> =>
  get(
    api.GET("/api/gates/{id}/by-token", {
      params: { path: { id: link.id }, query: { values } },
      headers: bearer(link),
    }),
  );

/** decide sends a decision of what was on the screen. */
export const decide =
  (link: Link) =>
  async (gate: Gate, d: Draft): Promise<Outcome> => {
    if (d.verb === "delegate" || d.verb === "take-back") throw new Error("a link hands nothing on");
    const { vote, missing } = await get(
      api.POST("/api/gates/{id}/decide-by-token", {
        params: { path: { id: link.id }, query: { values } },
        headers: bearer(link),
        body: {
          verdict: d.verb,
          reason: d.reason,
          shown: gate.hash,
          ...(d.value ? { value: compact(d.value) } : {}),
        },
      }),
    );
    const text = vote
      ? `Your vote is on record. Approvals missing: ${missing ?? 0}.`
      : "Your decision is on record, and what follows begins.";
    return { step: "acknowledged", verb: d.verb, state: vote ? "waiting" : "decided", text };
  };

/** gateOf returns what is asked as the inbox has it. Where it was asked is not for who has a link. */
export const gateOf = (asked: Asked): Gate => {
  const { gate } = asked;
  return {
    ...gate,
    intent: gate.intent || gate.name,
    binding: gate.fields ?? [],
    terms: gate.terms ?? [],
    answers: gate.answers ?? [],
    hash: gate.shown,
    state: asked.state,
    may: asked.may.filter((v) => v !== "cancel" && v !== "expire") as Gate["may"],
    barred: asked.barred,
    before: asked.before,
    duplicates: asked.duplicates,
    note: asked.note,
    schema: asked.schema,
    quorum: asked.quorum,
    votes: asked.votes?.map((v) => ({ ...v, gate: gate.id })),
    decision: asked.decision,
    thread: "",
    branch: "",
    checkpoint: "",
    seq: 0,
  };
};
