import { useSyncExternalStore } from "react";
import type { Gate } from "../api/client";

/** What this page snoozed stays where it is, with the moment at which it comes back. */
const until = new Map<string, string>();
const listeners = new Set<() => void>();

/** note keeps until when a question is hidden; undefined: it is not. */
export const note = (id: string, at: string | undefined) => {
  if (at) until.set(id, at);
  else until.delete(id);
  for (const l of listeners) l();
};

const subscribe = (l: () => void) => {
  listeners.add(l);
  return () => listeners.delete(l);
};

/** useSnoozed says until when a question is hidden from one's inbox, as this page or the list knows. */
export const useSnoozed = (gate: Gate | undefined) =>
  useSyncExternalStore(subscribe, () => gate && (until.get(gate.id) ?? gate.snoozedUntil));

/** isSnoozed says whether this page snoozed a question. */
export const isSnoozed = (id: string) => until.has(id);
