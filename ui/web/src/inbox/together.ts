// Which questions can be decided together, and why others cannot.

import type { Gate } from "../api/client";
import { now } from "../api/clock";
import { isUnknown } from "../gate/right";
import { hiddenIn } from "../text/hidden";
import { onRecord, texts } from "../text/json";

export type Verb = "approve" | "reject";
export const verbs: Verb[] = ["approve", "reject"];

/** A Left is a question that is not decided with the others, and why. */
export type Left = { gate: Gate; why: string };

/** setKey says which gates can be decided together: those of one question and one shape. */
const setKey = (g: Gate) => JSON.stringify([g.name, g.schema, g.binding.map((f) => f.name)]);

const isOver = (g: Gate, now: number) => g.expiresAt !== undefined && Date.parse(g.expiresAt) <= now;

/** takes says whether a verdict can be given to a question now. */
export const takes = (g: Gate, verb: Verb, now: number) => g.may.includes(verb) && !isOver(g, now);

/** whyNot says why a verdict cannot be given to a question, in a few words. */
export function whyNot(g: Gate, verb: Verb, now: number): string {
  if (isOver(g, now)) return "its deadline has passed";
  if (g.may.includes(verb)) return "";
  if (g.verdicts && !g.verdicts.includes(verb)) return `it takes no ${verb}`;
  return g.barred ?? `you may not ${verb} it`;
}

/** Elsewhere is why a question of which there are two is decided by itself. */
export const elsewhere = "another branch or thread asks, or did, the same";

const hides = (g: Gate) => hiddenIn([g.intent, g.thread, ...texts(onRecord(g.payload))]).length > 0;

/** alone says why a question has to be decided by itself, or nothing. */
function aloneAt(g: Gate, now: number): string {
  if (g.error) return "it cannot be read";
  if (g.kind === "session") return "its caller waits on a connection";
  if (hides(g)) return "it has characters that are not seen";
  if (isUnknown(g)) return "what became of an effect is looked up one by one";
  if (isOver(g, now)) return "its deadline has passed";
  if (verbs.some((v) => g.may.includes(v))) return "";
  if (g.may.includes("respond")) return "it asks for an answer of its own";
  return whyNot(g, "approve", now);
}

const unlike = (g: Gate, first: Gate | undefined) =>
  first && JSON.stringify(g.binding.map((f) => f.name)) === JSON.stringify(first.binding.map((f) => f.name))
    ? "it has other rules for its values"
    : "it has other values";

/**
 * together splits open questions of one name into those that can be decided together, and those
 * that cannot, with why. There is a set where one verdict can be given to two of them at least. also names
 * those that another branch of their thread asks too, beside those that the list has itself.
 */
export function together(gates: Gate[], at = now(), also = new Set<string>()): { set: Gate[]; left: Left[] } {
  const branches = new Map<string, Set<string>>();
  for (const g of gates) branches.set(g.thread, (branches.get(g.thread) ?? new Set()).add(g.branch));
  const alone = (g: Gate) =>
    aloneAt(g, at) || (also.has(g.id) || (branches.get(g.thread)?.size ?? 0) > 1 ? elsewhere : "");
  const alike = new Map<string, Gate[]>();
  for (const g of gates) {
    if (alone(g)) continue;
    const list = alike.get(setKey(g));
    if (list) list.push(g);
    else alike.set(setKey(g), [g]);
  }
  const counts = (of: Gate[]) => Math.max(...verbs.map((v) => of.filter((g) => takes(g, v, at)).length));
  let set: Gate[] = [];
  for (const of of alike.values()) if (counts(of) > 1 && of.length > set.length) set = of;
  const left = gates.flatMap((g) => (set.includes(g) ? [] : [{ gate: g, why: alone(g) || unlike(g, set[0]) }]));
  return { set, left };
}

/** reasons counts why questions are left out: "2 its deadline has passed, 1 it cannot be read". */
export function reasons(left: { why: string }[]): string {
  const counts = new Map<string, number>();
  for (const { why } of left) counts.set(why, (counts.get(why) ?? 0) + 1);
  return [...counts].map(([why, n]) => `${n}: ${why}`).join("; ");
}
