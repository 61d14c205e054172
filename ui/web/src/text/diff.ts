// Where two values on record differ. Values are trees with the sources of their tokens (json.ts), so
// that 1.0 and 1 differ, and both sides can be shown as they are. Members keep their order.

import { compact, type Node } from "./json";

export type Row = { kind: "equal"; items: Node[]; from: number } | { kind: "row"; diff: Diff; at: number };

export type Diff =
  | { kind: "same"; node: Node }
  | { kind: "added"; node: Node }
  | { kind: "removed"; node: Node }
  | { kind: "changed"; a: Node; b: Node }
  | { kind: "object"; members: { name: string; diff: Diff }[] }
  | { kind: "array"; rows: Row[]; was: number; is: number };

/** Lists whose differing middles are longer, multiplied, are compared by place. */
const maxTable = 250_000;

const written = new WeakMap<Node, string>();

const textOf = (node: Node): string => {
  let text = written.get(node);
  if (text === undefined) written.set(node, (text = compact(node)));
  return text;
};

/** diff compares two values. An absent one is undefined; both absent is an empty change of nothing. */
export function diff(a: Node | undefined, b: Node | undefined): Diff {
  if (!a) return b ? { kind: "added", node: b } : { kind: "same", node: { kind: "object", members: [] } };
  if (!b) return { kind: "removed", node: a };
  if (textOf(a) === textOf(b)) return { kind: "same", node: b };
  if (a.kind === "object" && b.kind === "object") return objects(a, b);
  if (a.kind === "array" && b.kind === "array") return arrays(a.items, b.items);
  return { kind: "changed", a, b };
}

/** keyed gives each member a key: its name, and which one of that name it is. */
function keyed(node: Node & { kind: "object" }) {
  const count = new Map<string, number>();
  return node.members.map((m) => {
    const n = count.get(m.name) ?? 0;
    count.set(m.name, n + 1);
    return { key: `${n}/${m.name}`, name: m.name, value: m.value };
  });
}

function objects(a: Node & { kind: "object" }, b: Node & { kind: "object" }): Diff {
  const before = keyed(a);
  const after = keyed(b);
  const was = new Map(before.map((m) => [m.key, m.value]));
  const is = new Set(after.map((m) => m.key));
  const gone = new Map<string, { name: string; diff: Diff }[]>(); // by the member that stood before them
  let last = "";
  for (const m of before) {
    if (is.has(m.key)) last = m.key;
    else gone.set(last, [...(gone.get(last) ?? []), { name: m.name, diff: { kind: "removed", node: m.value } }]);
  }
  const members = gone.get("") ?? [];
  for (const m of after) {
    members.push({ name: m.name, diff: diff(was.get(m.key), m.value) }, ...(gone.get(m.key) ?? []));
  }
  return { kind: "object", members };
}

function arrays(a: Node[], b: Node[]): Diff {
  const same = (i: number, j: number) => textOf(a[i] as Node) === textOf(b[j] as Node);
  const shorter = Math.min(a.length, b.length);
  let start = 0;
  while (start < shorter && same(start, start)) start++;
  let end = 0;
  while (end < shorter - start && same(a.length - 1 - end, b.length - 1 - end)) end++;
  const rows: Row[] = [];
  const equal = (from: number, items: Node[]) => {
    const before = rows.at(-1);
    if (items.length === 0) return;
    if (before?.kind === "equal") before.items.push(...items);
    else rows.push({ kind: "equal", items: [...items], from });
  };
  equal(0, b.slice(0, start));
  const [left, right] = [a.slice(start, a.length - end), b.slice(start, b.length - end)];
  const kept = left.length * right.length > maxTable ? [] : common(left, right);
  let i = 0;
  let j = 0;
  for (const [x, y] of [...kept, [left.length, right.length] as const]) {
    // What stands between two equal items is paired by place: an item that was changed, not one that went and one that came.
    for (let n = 0; n < Math.max(x - i, y - j); n++) {
      const d = diff(i + n < x ? left[i + n] : undefined, j + n < y ? right[j + n] : undefined);
      if (d.kind === "same") equal(start + j + n, [d.node]);
      else rows.push({ kind: "row", diff: d, at: start + (j + n < y ? j : i) + n });
    }
    if (x < left.length) equal(start + y, [right[y] as Node]);
    [i, j] = [x + 1, y + 1];
  }
  equal(b.length - end, b.slice(b.length - end));
  return { kind: "array", rows, was: a.length, is: b.length };
}

/** common returns the places of a longest common subsequence. */
function common(a: Node[], b: Node[]): (readonly [number, number])[] {
  const wide = b.length + 1;
  const table = new Uint32Array((a.length + 1) * wide);
  const at = (i: number, j: number) => table[i * wide + j] as number;
  const [x, y] = [a.map(textOf), b.map(textOf)];
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      table[i * wide + j] = x[i] === y[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const found: (readonly [number, number])[] = [];
  for (let i = 0, j = 0; i < a.length && j < b.length;) {
    if (x[i] === y[j]) found.push([i++, j++] as const);
    else if (at(i + 1, j) >= at(i, j + 1)) i++;
    else j++;
  }
  return found;
}

/** middle returns where two texts differ: the length of what is equal before, and after. It cuts no character in two. */
export function middle(a: string, b: string): [number, number] {
  const shorter = Math.min(a.length, b.length);
  const half = (text: string, at: number) => /[\uDC00-\uDFFF]/.test(text[at] ?? "");
  let start = 0;
  while (start < shorter && a[start] === b[start]) start++;
  if (half(a, start) || half(b, start)) start--;
  let end = 0;
  while (end < shorter - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  if (end > 0 && (half(a, a.length - end) || half(b, b.length - end))) end--;
  return [start, end];
}

/** A Piece is a part of a text that is shown, or how many characters are left out there. */
export type Piece = { text: string; differs: boolean } | { left: number };

/** So many characters that are equal stand beside those that differ. */
const around = 80;

/**
 * excerpt returns what is shown of a text in which start characters at its begin and end characters at
 * its end are equal to those of another. What differs is never left out at its begin or its end.
 */
export function excerpt(text: string, start: number, end: number, most: number): Piece[] {
  const whole = text.length <= most;
  const pieces: Piece[] = [];
  const add = (from: number, to: number, differs: boolean, keep: "first" | "last" | "both") => {
    const cut = (at: number) => (/[\uDC00-\uDFFF]/.test(text[at] ?? "") ? at - 1 : at);
    const many = keep === "both" ? most : around;
    if (whole || to - from <= many) {
      if (to > from) pieces.push({ text: text.slice(from, to), differs });
      return;
    }
    const head = keep === "last" ? from : cut(from + (keep === "both" ? Math.floor(many * 0.7) : many));
    const tail = keep === "first" ? to : cut(to - (keep === "both" ? Math.floor(many * 0.3) : many));
    if (head > from) pieces.push({ text: text.slice(from, head), differs });
    pieces.push({ left: tail - head });
    if (to > tail) pieces.push({ text: text.slice(tail, to), differs });
  };
  const last = text.length - end;
  if (start >= text.length) add(0, text.length, false, "first");
  else {
    add(0, start, false, "last");
    add(start, last, true, "both");
    add(last, text.length, false, "first");
  }
  return pieces;
}

/** A Hunk is lines that are equal in both texts, or those that took the place of others. */
export type Hunk = { equal: string[] } | { equal?: undefined; was: string[]; is: string[] };

/** lines compares two texts line by line. Where too many differ, all between the first and the last is one place. */
export function lines(a: string, b: string): Hunk[] {
  const nodes = (text: string): Node[] => text.split("\n").map((source) => ({ kind: "text", source }));
  const [x, y] = [nodes(a), nodes(b)];
  const same = (i: number, j: number) => textOf(x[i] as Node) === textOf(y[j] as Node);
  const shorter = Math.min(x.length, y.length);
  let start = 0;
  while (start < shorter && same(start, start)) start++;
  let end = 0;
  while (end < shorter - start && same(x.length - 1 - end, y.length - 1 - end)) end++;
  const [left, right] = [x.slice(start, x.length - end), y.slice(start, y.length - end)];
  const kept = left.length * right.length > maxTable ? [] : common(left, right);
  const hunks: Hunk[] = [];
  const texts = (some: Node[]) => some.map(textOf);
  const equal = (some: Node[]) => {
    const before = hunks.at(-1);
    if (some.length === 0) return;
    if (before?.equal) before.equal.push(...texts(some));
    else hunks.push({ equal: texts(some) });
  };
  equal(x.slice(0, start));
  let [i, j] = [0, 0];
  for (const [m, n] of [...kept, [left.length, right.length] as const]) {
    if (m > i || n > j) hunks.push({ was: texts(left.slice(i, m)), is: texts(right.slice(j, n)) });
    if (m < left.length) equal([left[m] as Node]);
    [i, j] = [m + 1, n + 1];
  }
  equal(x.slice(x.length - end));
  return hunks;
}
