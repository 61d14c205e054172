import { expect, test } from "vitest";
import { itemsOf, joined, lineOf, runsSince, type Choice, type Row } from "./items";

const row = (seq: number, more: Partial<Row> = {}): Row => ({
  id: String(seq),
  seq,
  branch: "main",
  kind: "node",
  at: new Date(seq * 1000).toISOString(),
  status: "running",
  node: "analyze",
  ...(seq > 1 && !more.parent ? { parent: String(seq - 1) } : {}),
  ...more,
});

const choice = (more: Partial<Choice> = {}): Choice => ({ thread: "t", filter: "all", opened: new Set(), ...more });
const newest = (...rows: Row[]) => rows.sort((a, b) => b.seq - a.seq);
const shape = (rows: Row[], more: Partial<Choice> = {}) =>
  itemsOf(rows, choice(more)).map(
    (i) => (i.count > 1 ? `${i.id}x${i.count}` : i.id) + (i.parent ? `<${i.parent}` : ""),
  );

const many = newest(...Array.from({ length: 10 }, (_, i) => row(i + 1)));

test("more than five of one node fold, but not the head", () => {
  expect(shape(many)).toEqual(["10<9", "9x9"]);
  expect(shape(newest(...Array.from({ length: 6 }, (_, i) => row(i + 1))))).toHaveLength(6);
  expect(shape(many, { opened: new Set(["9"]) })).toHaveLength(10);
});

test("what matters is never folded, nor what is looked at", () => {
  expect(shape(many, { at: "3" })).toEqual(["10<9", "9x6<3", "3<2", "2<1", "1"]);
  const gate = many.map((r) =>
    r.id === "4" ? { ...r, asked: [{ id: "g", name: "pay", state: "open" as const }] } : r,
  );
  expect(shape(gate)).toContain("4<3");
  const forked = newest(...many, row(11, { branch: "fork-1", parent: "4", kind: "fork" }));
  expect(shape(forked)).toContain("4<3");
});

test("rows of other branches between those of a run leave it whole", () => {
  const rows = newest(
    ...Array.from({ length: 8 }, (_, i) => row(2 * i + 1, i > 0 ? { parent: String(2 * i - 1) } : {})),
    ...Array.from({ length: 7 }, (_, i) =>
      row(2 * i + 2, { branch: "b", node: "read", parent: i > 0 ? String(2 * i) : "1" }),
    ),
  );
  expect(shape(rows)).toEqual(["15<13", "14<12", "13x6<1", "12x6<1", "1"]);
});

test("a filter keeps what it names, and lines lead to the nearest row that is shown", () => {
  const rows = newest(row(1, { by: "alice" }), row(2), row(3, { error: "no" }), row(4), row(5, { by: "bob" }));
  expect(shape(rows, { filter: "people" })).toEqual(["5<1", "1"]);
  expect(shape(rows, { filter: "failures" })).toEqual(["3"]);
  expect(shape(rows, { filter: "failures", at: "4" })).toEqual(["4<3", "3"]);
  expect(shape(rows, { between: [2, 3] })).toEqual(["3<2", "2"]);
});

test("a question that another took the place of names the row of that", () => {
  const rows = newest(
    row(1),
    row(2, { gates: ["a"], asked: [{ id: "a", name: "pay", state: "withdrawn", superseded: "b" }] }),
    row(3, { gates: ["b"], parent: "1", asked: [{ id: "b", name: "pay", state: "open", supersedes: "a" }] }),
  );
  expect(itemsOf(rows, choice())[1]).toMatchObject({ id: "2", successor: "3" });
});

test("the line of a branch goes on through the branch that it was forked from", () => {
  const rows = newest(row(1), row(2), row(3), row(4, { branch: "b", parent: "2" }));
  expect(lineOf(rows, "b").map((r) => r.id)).toEqual(["4", "2", "1"]);
  expect(lineOf(rows, "main").map((r) => r.id)).toEqual(["3", "2", "1"]);
  expect(lineOf(rows, "nothing")).toEqual([]);
});

test("10,000 rows on 41 branches are laid out in little time", () => {
  const rows = newest(
    ...Array.from({ length: 10_000 }, (_, i) =>
      row(i + 1, { branch: i < 5000 ? "main" : `fork-${i % 40}`, node: `n${i % 3}` }),
    ),
  );
  expect(itemsOf(rows, choice()).length).toBe(10_000);
});

test("a folded run says when it began, and what was tried again is not folded", () => {
  const fold = itemsOf(many, choice()).find((i) => i.count > 1);
  expect([fold?.since, fold?.row.at]).toEqual([new Date(1000).toISOString(), new Date(9000).toISOString()]);
  const retried = many.map((r) => (r.id === "4" ? { ...r, tries: 3, lastError: "busy" } : r));
  expect(shape(retried)).toContain("4<3");
});

test("states that were saved by hand are one line, in their order", () => {
  const saves = newest(...[1, 2, 3].map((n) => ({ ...row(n, { kind: "save" }), parent: undefined }) as unknown as Row));
  expect(lineOf(joined(saves), "main").map((r) => r.id)).toEqual(["3", "2", "1"]);
  expect(joined(many)).toBe(many);
});

test("a branch runs since it began, or since its last wait ended", () => {
  const began = [row(1, { kind: "input" }), row(2), row(3)];
  const since = (rows: Row[]) => runsSince(rows.at(-1) as Row, new Map(rows.map((r) => [r.id, r])));
  expect(since(began)).toBe(row(1).at);
  const asked = { id: "g", name: "ok?", state: "decided" as const, at: 2500 };
  expect(since([row(1, { kind: "input" }), row(2, { asked: [asked] }), row(3), row(4)])).toBe(
    "1970-01-01T00:00:02.500Z",
  );
});
