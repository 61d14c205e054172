import { expect, test } from "vitest";
import { asksNumber, reasonOf, unserved } from "./served";

test("programs that are not served are counted", () => {
  const graphs = new Map([
    ["a", "refund"],
    ["b", "refund"],
    ["c", "dispatch"],
    ["d", "posthouse.task"],
  ]);
  expect(unserved(["a", "b", "c", "d", "unknown"], graphs, [{ name: "dispatch" }])).toEqual([
    { program: "refund", count: 2 },
  ]);
  expect(unserved(["c"], graphs, [{ name: "dispatch" }])).toEqual([]);
});

test("reasons that differ by the thread alone are equal", () => {
  const text = (t: string) => reasonOf(t, `program "refund" of thread ${t} is not one that runs here`);
  expect(text("crowd-1")).toBe(text("crowd-2"));
});

test("many threads are resumed only after their number was typed", () => {
  expect(asksNumber("resume", 10)).toBe(false);
  expect(asksNumber("resume", 11)).toBe(true);
  expect(asksNumber("cancel", 1)).toBe(true);
});
