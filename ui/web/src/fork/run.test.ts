import { expect, test } from "vitest";
import { whyNot } from "./run";

test("a fork that cannot run at once says why", () => {
  expect(whyNot({ status: "interrupted", next: ["pay"] }, false)).toBe("");
  expect(whyNot({ status: "interrupted", next: [] }, false)).toMatch(/nothing runs next/);
  expect(whyNot({ status: "done", next: [] }, false)).toMatch(/had ended/);
  expect(whyNot({ status: "", next: [] }, false)).toMatch(/saved by hand/);
  expect(whyNot({ status: "waiting", next: ["ask"] }, false)).toMatch(/waits for its question/);
  expect(whyNot({ status: "interrupted", next: ["pay"] }, true)).toMatch(/refused/);
  expect(whyNot(undefined, false)).not.toBe("");
});
