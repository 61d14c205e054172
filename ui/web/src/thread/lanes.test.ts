import { expect, test } from "vitest";
import { layout, type LaneRow } from "./lanes";

/** rows reads "id branch parent" lines, the newest first. */
const rows = (text: string): LaneRow[] =>
  text
    .trim()
    .split("\n")
    .map((line) => {
      const [id = "", branch = "", parent] = line.trim().split(/\s+/);
      return { id, branch, ...(parent ? { parent } : {}) };
    });

const lanes = (list: LaneRow[], drawn = 8, chosen = "main", complete = true) => {
  const l = layout(list, drawn, chosen, complete);
  return list.map((r, i) => `${r.id}:${l.slice(i).lane}`).join(" ");
};

test("main is leftmost, and a fork has a lane until the row it was made from", () => {
  const list = rows(`5 main 3
    4 fork 2
    3 main 2
    2 main 1
    1 main`);
  const l = layout(list, 8, "main", true);
  expect(lanes(list)).toBe("5:0 4:1 3:0 2:0 1:0");
  expect(l.width).toBe(2);
  expect(l.slice(2).lines.map((x) => [x.lane, x.in, x.out])).toEqual([
    [0, true, true],
    [1, true, true],
  ]);
  expect(l.slice(3).joins.map((j) => j.lane)).toEqual([1]);
  expect(l.slice(3).lines.map((x) => x.lane)).toEqual([0]);
  expect(l.slice(4).lines).toMatchObject([{ lane: 0, in: true, out: false }]);
});

test("main is leftmost also where another branch is newer", () => {
  expect(lanes(rows("3 fork 1\n2 main 1\n1 main"))).toBe("3:1 2:0 1:0");
});

test("a lane that ended is used again, and not in the row in which it ends", () => {
  const list = rows(`8 b 5
    7 main 6
    6 main 3
    5 c 2
    4 a 2
    3 main 2
    2 main 1
    1 main`);
  // c has the row in which b ends, so it cannot have b's lane; a can
  expect(lanes(list)).toBe("8:1 7:0 6:0 5:2 4:1 3:0 2:0 1:0");
});

test("beyond the lanes that are drawn the rest share one, and the chosen branch never does", () => {
  const forks = Array.from({ length: 40 }, (_, i) => `f${i} fork-${i} 1`).join("\n");
  const list = rows(`${forks}\n2 main 1\n1 main`);
  const l = layout(list, 8, "main", true);
  expect(l.width).toBe(9);
  expect(l.more).toHaveLength(33);
  expect(l.slice(39).lane).toBe(8);
  expect(l.slice(40).lines.filter((x) => x.lane === 8)).toHaveLength(1);
  expect(l.slice(41).joins).toHaveLength(8);
  const chosen = layout(list, 8, "fork-39", true);
  expect(chosen.slice(39).lane).toBe(1);
  expect(chosen.more).toHaveLength(33);
  expect(chosen.more).not.toContain("fork-39");
  for (let i = 0; i < 40; i++) expect(chosen.slice(i).lane === 1, `row ${i}`).toBe(i === 39);
});

test("what a branch left has a lane of its own, with a dashed line to what took its place", () => {
  const list = rows(`4 main 2
    3 main 2
    2 main 1
    1 main`);
  list[1]!.successor = "4";
  const l = layout(list, 8, "main", true);
  expect(list.map((_, i) => l.slice(i).lane)).toEqual([0, 1, 0, 0]);
  expect(l.slice(1).track.left).toBe(true);
  expect(l.slice(0).dashes).toEqual([{ lane: 1, beside: false, at: "to" }]);
  expect(l.slice(1).dashes).toEqual([{ lane: 1, beside: false, at: "from" }]);
  expect(l.slice(2).joins.map((j) => j.lane)).toEqual([1]);
});

test("a question replaced on its own line has the dashed line beside it", () => {
  const list = rows("4 main 3\n3 main 2\n2 main 1\n1 main");
  list[2]!.successor = "4";
  const l = layout(list, 8, "main", true);
  expect(l.slice(1).dashes).toEqual([{ lane: 0, beside: true, at: "through" }]);
  expect(l.slice(2).dashes).toEqual([{ lane: 0, beside: true, at: "from" }]);
  expect(l.slice(3).dashes).toEqual([]);
});

test("a fork from another thread begins with a stub", () => {
  const l = layout([{ id: "1", branch: "main", parent: "elsewhere", foreign: "order-1" }], 8, "main", true);
  expect(l.slice(0).stub).toBe("order-1");
  expect(l.slice(0).lines).toMatchObject([{ in: false, out: false }]);
});

test("lines go on below the last row that was read, and end there once all are", () => {
  const list = rows("9 main 7\n8 fork 6");
  const part = layout(list, 8, "main", false);
  expect(part.slice(1).lines.every((x) => x.out)).toBe(true);
  expect(part.slice(0).lines).toMatchObject([{ lane: 0, out: true }]);
  expect(layout(list, 8, "main", true).slice(1).lines).toMatchObject([{ lane: 1, out: false }]);
});

test("no two lines of one row share a lane, whatever the history", () => {
  let seed = 7;
  const random = (n: number) => (seed = (seed * 48271) % 2147483647) % n;
  for (let round = 0; round < 200; round++) {
    const heads = new Map<string, string>([["main", "0"]]);
    const all: LaneRow[] = [{ id: "0", branch: "main" }];
    for (let i = 1; i < 60; i++) {
      const from = all[random(all.length)]!;
      const branch = random(4) === 0 ? `fork-${i}` : [...heads.keys()][random(heads.size)]!;
      all.push({ id: String(i), branch, parent: heads.get(branch) ?? from.id });
      heads.set(branch, String(i));
    }
    const list = all.reverse();
    const drawn = 3 + random(6);
    const l = layout(list, drawn, [...heads.keys()][random(heads.size)]!, true);
    for (let i = 0; i < list.length; i++) {
      const own = l.tracks.filter((t) => t.lane < drawn && t.top <= i && i <= (t.join ?? t.bottom));
      expect(new Set(own.map((t) => t.lane)).size, `round ${round}, row ${i}`).toBe(own.length);
      expect(l.slice(i).lines.some((x) => x.lane === l.slice(i).lane)).toBe(true);
    }
  }
});
