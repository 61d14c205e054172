// Compares what a page shows of a record with what was signed: the header first, then the body.

import { compact, member, read, stringOf, type Node } from "./json";
import type { Head } from "./header";

/** Shown is what a page shows of one record of an entry. */
export type Shown = {
  kind: string;
  /** These fields of the header find the record. */
  of: Partial<Head>;
  /** These have to be equal. */
  head: Partial<Head>;
  /** These members of its body, as JSON, have to be equal; "" is none. */
  body?: Record<string, string>;
  /** This is the whole body, as JSON. */
  whole?: string;
};

const words: Record<string, string> = {
  by: "author",
  was: "kind",
  for: "person in whose place it was",
  at: "time",
  token: "approval token",
  shown: "digest",
};

const equal = (head: Head, fields: Partial<Head>) =>
  Object.entries(fields).find(([name, value]) => (head[name as keyof Head] ?? "") !== value)?.[0];

/**
 * differs says how what is shown, and what the readable bodies say, differs from the header. If a body that was to be
 * compared cannot be read here, it says so in left.
 */
export function differs(
  seq: number,
  heads: Head[],
  bodies: (Uint8Array<ArrayBuffer> | undefined)[],
  shown: Shown | undefined,
): { why?: string; left?: string } {
  for (const [i, head] of heads.entries()) {
    const contradicted = contradicts(head, bodies[i]);
    if (contradicted) return { why: `the ${head.kind} of entry #${seq} has another ${contradicted} than its header` };
  }
  if (!shown) return {};
  const of = heads.filter((h) => h.kind === shown.kind);
  if (of.length === 0) return { why: `entry #${seq} has no ${shown.kind}` };
  const at = heads.findIndex((h) => h.kind === shown.kind && !equal(h, shown.of));
  const head = heads[at];
  if (!head) return { why: `the ${shown.kind} of entry #${seq} is about something else` };
  const wrong = equal(head, shown.head);
  if (wrong) return { why: other(shown.kind, wrong, seq) };
  if (!shown.body && shown.whole === undefined) return {};
  const bytes = bodies[at];
  if (head.size > 0 && (head.sealed || !bytes)) {
    const what = head.sealed ? "encrypted" : "not here";
    return { left: `the rest of what it says is ${what}, and was not compared` };
  }
  return inBody(shown, bytes, seq);
}

const other = (kind: string, name: string, seq: number) =>
  `the ${kind} that is shown has another ${words[name] ?? name} than entry #${seq}`;

function inBody(shown: Shown, bytes: Uint8Array<ArrayBuffer> | undefined, seq: number): { why?: string } {
  const node = parsed(bytes);
  if (shown.whole !== undefined)
    return (node ? compact(node) : "") === shown.whole ? {} : { why: other(shown.kind, "content", seq) };
  for (const [name, value] of Object.entries(shown.body ?? {})) {
    if (said(member(node, name)) !== value) return { why: other(shown.kind, name, seq) };
  }
  return {};
}

function parsed(bytes: Uint8Array<ArrayBuffer> | undefined): Node | undefined {
  if (!bytes?.length) return undefined;
  try {
    return read(new TextDecoder().decode(bytes));
  } catch {
    return undefined;
  }
}

/** said is a member as text: a string without its quotes, anything else as JSON. */
const said = (node: Node | undefined) => (node ? (stringOf(node) ?? compact(node)) : "");

const repeated: Record<string, Record<string, keyof Head>> = {
  decision: { gate: "id", verdict: "verdict", by: "by" },
  vote: { gate: "id", verdict: "verdict", by: "by" },
  assignment: { gate: "id", by: "by" },
  notice: { gate: "id", by: "by" },
};

/** contradicts returns the member of a readable body that says something else than the header. */
function contradicts(head: Head, bytes: Uint8Array<ArrayBuffer> | undefined): string | undefined {
  const names = repeated[head.kind];
  if (!names || !bytes || head.sealed) return undefined;
  const node = parsed(bytes);
  return Object.entries(names).find(([name, field]) => said(member(node, name)) !== head[field])?.[0];
}
