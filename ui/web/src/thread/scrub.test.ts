import { expect, test } from "vitest";
import type { Row } from "./items";
import { entriesIn, nearestMark, scrubOf, extended } from "./scrub";

const at = (s: number) => new Date(s * 1000).toISOString();
const row = (seq: number, began: number, end: number, more: Partial<Row> = {}): Row => ({
  id: String(seq),
  seq,
  branch: "main",
  kind: "node",
  node: "n",
  began: at(began),
  at: at(end),
  ...more,
});

const asked = (state: "open" | "decided", answered?: number): Partial<Row> => ({
  asked: [{ id: "g", name: "pay", state, ...(answered ? { at: answered * 1000 } : {}) }],
});

test("a line has what ran, what waited for people, and what was done", () => {
  const line = [
    row(4, 70, 72, { effects: [{ name: "pay", class: "external", status: "executed", seq: 4 }] }),
    row(2, 10, 12, asked("decided", 60)),
    row(1, 0, 10),
  ];
  const s = scrubOf(line, "time", false, 0)!;
  expect(s.bars.map((b) => [b.tone, b.cut])).toEqual([
    ["finished", false],
    ["finished", false],
    ["waiting", false],
    ["idle", false],
    ["acted", false],
  ]);
  expect(s.bars[0]!.to).toBeCloseTo(10 / 72, 2);
  expect(s.bars.at(-1)!.to).toBe(1);
  expect([s.begin, s.end]).toEqual([at(0), at(72)]);
  expect(s.marks.map((m) => m.seq)).toEqual([1, 2, 4]);
});

test("a wait of days among seconds is cut, and the rest stays visible", () => {
  const line = [
    row(4, 260_000, 260_002),
    row(3, 259_999, 260_000),
    row(2, 3, 5, asked("decided", 259_999)),
    row(1, 0, 3),
  ];
  const s = scrubOf(line, "time", false, 0)!;
  const wait = s.bars.find((b) => b.tone === "waiting")!;
  expect(wait.cut).toBe(true);
  expect(wait.to - wait.from).toBeLessThan(0.75);
  expect(s.bars.every((b) => b.to >= b.from)).toBe(true);
});

test("what runs and what waits goes on until now", () => {
  expect(scrubOf([row(1, 0, 1)], "time", true, 5000)!.bars.at(-1)).toMatchObject({ tone: "running", to: 1 });
  const open = scrubOf([row(1, 0, 1, asked("open"))], "time", false, 5000)!;
  expect(open.bars.at(-1)).toMatchObject({ tone: "waiting" });
  expect([open.goesOn, open.end]).toEqual([true, at(5)]);
  const timer = row(1, 0, 1, { asked: [{ id: "g", name: "sleep", kind: "timer", state: "open" }] });
  expect(scrubOf([timer], "time", false, 5000)!.bars.at(-1)).toMatchObject({ tone: "idle" });
});

test("in order each row has the same width", () => {
  const s = scrubOf([row(3, 10, 1000), row(2, 1, 10), row(1, 0, 1)], "order", false, 0)!;
  expect(s.marks.map((m) => Math.round(m.at * 3))).toEqual([1, 2, 3]);
});

test("a place on the line leads to the nearest row, and a part of it to its entries", () => {
  const s = scrubOf([row(9, 10, 15), row(5, 5, 10), row(1, 0, 5)], "order", false, 0)!;
  expect(nearestMark(s, 0.1)?.seq).toBe(1);
  expect(nearestMark(s, 0.7)?.seq).toBe(5);
  expect(nearestMark(s, 1)?.seq).toBe(9);
  expect(entriesIn(s, 0.5, 1)).toEqual([5, 9]);
  expect(entriesIn(s, 0.4, 0.5)).toBeUndefined();
});

test("no rows have no line, and 10,000 have few bars", () => {
  expect(scrubOf([], "time", false, 0)).toBeUndefined();
  const line = Array.from({ length: 10_000 }, (_, i) => row(10_000 - i, 9_999 - i, 10_000 - i));
  const s = scrubOf(line, "time", false, 0)!;
  expect(s.bars.length).toBeLessThan(1200);
  expect(s.marks).toHaveLength(10_000);
});

test("clocks that go back make no bar of less than nothing", () => {
  const s = scrubOf([row(3, 1, 2), row(2, 50, 60), row(1, 5, 10)], "time", false, 0)!;
  for (const b of s.bars) expect(b.to).toBeGreaterThanOrEqual(b.from);
});

test("a range is begun at a row, and one of its ends is moved by rows", () => {
  const marks = [1, 5, 9, 12].map((seq) => ({ at: seq / 12, seq, id: String(seq) }));
  const at = (between: [number, number] | undefined, row: number, end: "low" | "high" | undefined, by: 1 | -1) =>
    extended({ marks }, between, row, end, by);
  expect(at(undefined, 1, undefined, 1)).toEqual({ between: [5, 9], end: "high" });
  expect(at([5, 9], 1, "high", 1)).toEqual({ between: [5, 12], end: "high" });
  expect(at([5, 12], 1, "high", 1)).toEqual({ between: [5, 12], end: "high" });
  expect(at([5, 9], 1, "high", -1)).toEqual({ between: [5, 5], end: "high" });
  expect(at([5, 5], 1, "high", -1)).toEqual({ between: [1, 5], end: "low" });
  expect(at(undefined, -1, undefined, -1)).toEqual({ between: [9, 12], end: "low" });
  expect(extended({ marks: [] }, undefined, -1, undefined, 1)).toBeUndefined();
});

test("the time between a fork and its source is no part of what the branch took", () => {
  const fork = row(9, 670, 670, {
    branch: "fork-1",
    kind: "fork",
    status: "interrupted",
    source: { thread: "t", id: "2" },
  });
  const before = [row(2, 2, 4, asked("decided", 60)), row(1, 0, 2)];
  const s = scrubOf([fork, ...before], "time", false, 0)!;
  expect(s.apart).toBe(666_000);
  expect(s.bars.map((b) => b.tone)).toEqual(["finished", "finished", "idle", "finished"]);
  const ran = scrubOf([row(10, 671, 680), fork, ...before], "time", false, 0)!;
  expect([ran.apart, ran.end]).toEqual([666_000, at(680)]);
  expect(ran.bars.some((b) => b.tone === "waiting")).toBe(false); // the question was decided on another branch
});

test("nothing ran between an end and what a person made after it", () => {
  const s = scrubOf([row(3, 900, 901), row(2, 1, 2, { status: "failed" }), row(1, 0, 1)], "time", false, 0)!;
  expect(s.bars.map((b) => b.tone)).toContain("idle");
  expect(s.apart).toBe(0);
});
