// A run that somebody fills in: what was typed, the request that it makes, and which key that has.

import type { Schemas } from "../api/client";
import { faultsOf, type Fault } from "../form/faults";
import { typeOf } from "../form/blank";
import { pathOf, placeOf } from "../form/place";
import { newKey } from "../text/key";
import { compact, member, type Node } from "../text/json";

export type Label = { name: string; value: string };

/** A Filled is what was typed beside the input. */
export type Filled = { id: string; labels: Label[]; when: string };

export const nothingFilled: Filled = { id: "", labels: [], when: "" };

type Body = { input?: string; id?: string; startAt?: string; labels?: Record<string, string> };
export type Run = Schemas["ProgramRun"];

const nothing: Node = { kind: "object", members: [] };

/** inputOf returns what a form sends as the input: an object of which nothing is given is an empty one. */
export const inputOf = (given: Node | undefined, schema: Node | undefined): Node | undefined =>
  given ?? (schema && typeOf(schema) === "object" ? nothing : undefined);

/** bodyOf returns the request that begins a run. */
export function bodyOf(input: Node | undefined, { id, labels, when }: Filled): Body {
  const some = Object.fromEntries(labels.filter((l) => l.name.trim()).map((l) => [l.name.trim(), l.value]));
  const at = when ? new Date(when) : undefined;
  return {
    ...(input ? { input: compact(input) } : {}),
    ...(id.trim() ? { id: id.trim() } : {}),
    ...(at && !Number.isNaN(at.getTime()) ? { startAt: at.toISOString() } : {}),
    ...(Object.keys(some).length > 0 ? { labels: some } : {}),
  };
}

/** A Sent is the request that was sent last, with its key. run is what it began. */
export type Sent = { text: string; key: string; run?: Run };

/** sending returns the request to send: the same one has the same key, so that it begins one run. */
export const sending = (was: Sent | undefined, text: string): Sent =>
  was?.text === text ? was : { text, key: newKey() };

/** isBegun says whether the same request has begun a run already. */
export const isBegun = (was: Sent | undefined, text: string) => was?.run !== undefined && was.text === text;

/** lacksOf returns what an input lacks. Nothing is needed where a program takes no JSON. */
export const lacksOf = (given: Node | undefined, schema: Node | undefined): Fault[] =>
  schema ? faultsOf(inputOf(given, schema), schema) : [];

/** isEmpty says whether a form with fields has none filled in, though the schema would let it begin so. */
export const isEmpty = (given: Node | undefined, schema: Node | undefined) =>
  given === undefined && membersOf(schema).length > 0;

const membersOf = (schema: Node | undefined): string[] => {
  const properties = member(schema, "properties");
  return properties?.kind === "object" ? properties.members.map((m) => m.name) : [];
};

const named = 4;

/** emptyOf says that nothing is filled in, and what could be. */
export function emptyOf(schema: Node | undefined): string {
  const all = membersOf(schema);
  const some = all.slice(0, named).map((n) => `“${n}”`);
  const rest = all.length - some.length;
  return `Nothing is filled in. The program takes ${some.join(", ")}${rest > 0 ? ` and ${rest} more` : ""}.`;
}

const listed = 3;

/** lackOf says in a line which fields are wrong, and how. */
export function lackOf(faults: Fault[], schema: Node | undefined): string {
  const place = (f: Fault) => placeOf(f.path, schema, "The input");
  const first = faults.slice(0, listed).map((f) => `${place(f)} ${f.says}`);
  const rest = faults.length - first.length;
  return `${first.join("; ")}${rest > 0 ? `; and ${rest} more` : ""}.`;
}

/** refusedOf returns the field that the server refused, which it calls as in input.lines[0].price. */
export function refusedOf(field: string | undefined, detail: string): Fault[] {
  if (!field || !/^input[.[]/.test(field)) return [];
  const names = field
    .slice("input".length)
    .split(/[.[\]]+/)
    .filter((n) => n !== "");
  return [{ path: names.map((n) => pathOf(n)).join(""), says: detail.replace(field, "").trim() }];
}
