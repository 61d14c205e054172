import { expect, test } from "vitest";
import { patience, Reads } from "./reads";

const query = (fetchStatus: string, reads: number) => ({
  state: { fetchStatus, dataUpdateCount: reads, errorUpdateCount: 0 },
});

test("a read is left to end, and asked for again when its answer does not come", () => {
  const all = new Reads();
  const q = query("fetching", 0);
  expect(all.underWay(query("idle", 3), 0)).toBe(false);
  expect(all.underWay(q, 1000)).toBe(true);
  expect(all.underWay(q, 1000 + patience - 1)).toBe(true);
  expect(all.underWay(q, 1000 + patience)).toBe(false);
  expect(all.underWay(q, 1500 + patience)).toBe(true); // the read that was begun for it
});

test("the next read of a query has its own time", () => {
  const all = new Reads();
  const q = query("fetching", 0);
  expect(all.underWay(q, 0)).toBe(true);
  q.state.dataUpdateCount = 1;
  expect(all.underWay(q, patience + 1)).toBe(true);
  q.state.errorUpdateCount = 1;
  expect(all.underWay(q, 2 * patience + 2)).toBe(true);
  q.state.fetchStatus = "idle";
  expect(all.underWay(q, 2 * patience + 3)).toBe(false);
});
