import { expect, test } from "vitest";
import { faulty, walked } from "./state";

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
