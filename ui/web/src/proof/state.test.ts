import { expect, test } from "vitest";
import { faulty } from "./faulty";
import { uncovered } from "./found";
import { afterwards, walked } from "./state";

const done = (ok: boolean, thread?: string) => ({ state: "done" as const, ok, ...(thread ? { thread } : {}) });

test("faults stand until the whole store is found without", () => {
  const bad = done(false);
  expect(faulty([])).toBeUndefined();
  expect(faulty([bad])).toBe(bad);
  expect(faulty([{ state: "running", ok: false }, bad])).toBe(bad);
  expect(faulty([{ state: "cancelled", ok: false }, { state: "failed", ok: false }, bad])).toBe(bad);
  expect(faulty([done(true, "one"), bad])).toBe(bad);
  expect(faulty([done(true), bad])).toBeUndefined();
  expect(faulty([done(false, "one"), done(true)])?.thread).toBe("one");
});

test("a total that is not counted to the end is not shown", () => {
  expect(walked(12, 40, true)).toBe("12 of 40 threads");
  expect(walked(7436, 5001, false)).toBe("7,436 threads so far");
  expect(walked(12, 11, true)).toBe("12 threads so far");
});

test("what came after a verification is counted, and a store that is at rest says nothing", () => {
  expect(afterwards({ threads: 0, new: 0, entries: 0 })).toBe("");
  expect(afterwards({ threads: 22, new: 20, entries: 503 })).toBe(
    "503 entries since, in 22 threads, 20 of them new: not verified",
  );
  expect(afterwards({ threads: 1, new: 0, entries: 1 })).toBe("1 entry since, in 1 thread: not verified");
  expect(afterwards({ threads: 2000, new: 0, entries: 9000, more: true })).toMatch(/^9,000 or more entries/);
  expect(afterwards({ threads: 0, new: 0, entries: 0, more: true })).toBe("what came since is not counted");
});

test("entries without a signature are not said to be after one, where their threads have none", () => {
  expect(uncovered({ covered: 7, unsigned: 100_001 })).toBe(
    "since the last valid signature of their thread, or in 100,001 threads without any valid signature",
  );
  expect(uncovered({ covered: 0, unsigned: 1 })).toBe("in 1 thread without any valid signature");
  expect(uncovered({ covered: 7, unsigned: 0 })).toBe("since the last valid signature of their thread");
});
