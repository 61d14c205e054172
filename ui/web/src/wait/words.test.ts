import { expect, test } from "vitest";
import { endOf, stateOf, titleOf } from "./words";

const of = (kind: string, name: string, more = {}) =>
  ({ kind, name, state: "open", ...more }) as Parameters<typeof titleOf>[0];

test("a wait is named by what it waits for, not by the runtime's name of it", () => {
  expect(titleOf(of("signal", "signal:confirmed", { signal: "confirmed" }))).toBe("Waits for the signal confirmed");
  expect(titleOf(of("timer", "read>$retry-2"))).toBe("Waits to be tried again");
  expect(titleOf(of("timer", "$retry-2", { state: "decided" }))).toBe("Waited to be tried again");
  expect(titleOf(of("timer", "backups"))).toBe("Sleeps until a time");
  expect(titleOf(of("task", "task:run", { call: { task: "wipe-tapes" } }))).toBe(
    "Waits for a worker that does wipe-tapes",
  );
  expect(titleOf(of("thread", "thread", { text: "invoice-7" }))).toBe("Waits for the end of the thread invoice-7");
});

test("what ended a wait is said in words", () => {
  const ended = (kind: string, verdict: string) => of(kind, kind, { state: "decided", decision: { verdict } });
  expect(endOf(of("timer", "x"))).toBe("");
  expect(endOf(ended("timer", "expire"))).toBe("Its time came.");
  expect(endOf(ended("signal", "expire"))).toBe("No signal came in time.");
  expect(endOf(ended("signal", "respond"))).toBe("The signal came.");
  const why = "the branch was cancelled by ann: called off";
  const decision = { verdict: "cancel", reason: "the branch went on without it" };
  expect(endOf(of("signal", "confirmed", { state: "withdrawn", decision, why }))).toBe(`It was withdrawn: ${why}`);
  expect([
    stateOf(ended("timer", "expire")),
    stateOf(ended("signal", "expire")),
    stateOf(ended("task", "reject")),
  ]).toEqual(["done", "expired", "failed"]);
});
