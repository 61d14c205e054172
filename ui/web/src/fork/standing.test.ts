import { expect, test } from "vitest";
import { answer, becameOf, callOf, heading, how, standing } from "./standing";

test("what a decision licenses acts without a question unless something is open", () => {
  expect(standing({ approval: "usable" })).toEqual({ acts: true, words: "people are not asked again" });
  expect(standing({ approval: "lapsed", asks: true }).words).toMatch(/lapsed/);
  expect(standing({ approval: "usable", asks: true })).toMatchObject({ acts: false });
  expect(standing({ approval: "usable", outcome: "give-up" })).toMatchObject({ acts: false });
  expect(standing({ approval: "usable", outcome: "happened" })).toMatchObject({ acts: false });
  expect(standing({ approval: "usable", outcome: "redo" })).toMatchObject({ acts: true });
});

test("an effect is named with its next attempt", () => {
  expect(heading({ name: "book>pay", attempt: 3, status: "decided" })).toBe("pay is tried again: attempt 3");
  expect(heading({ name: "pay", occurrence: 2, attempt: 1 })).toBe("pay [3] is tried");
  expect(heading({ name: "", attempt: 1, licenses: 1 })).toMatch(/did not begin/);
});

test("a step without a result says how its attempts ended, and an answer how it was given", () => {
  expect(becameOf({ attempts: 1, status: "decided" })).toBe("was tried once, and did not act");
  expect(becameOf({ attempts: 2, status: "unknown" })).toMatch(/not known whether it acted/);
  expect(becameOf({ attempts: 3 })).toBe("failed 3 times");
  expect(answer("respond")).toBe("answered");
  expect(callOf("find[1]")).toBe("find [2]");
  expect(answer("later")).toBe("later");
});

test("a task that failed for good is handed out again, and other gates ask or wait", () => {
  expect(how({ kind: "task", failed: "no price" })).toBe("handed out again");
  expect(how({ kind: "task" })).toBe("task, waits");
  expect(how({ kind: "approval" })).toBe("asks");
});
