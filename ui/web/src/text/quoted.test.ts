import { expect, test } from "vitest";
import { quoted } from "../text/quoted";
import { cancelled } from "./cancelled";

test("only what somebody typed is in quotation marks", () => {
  expect(quoted("ann", "too late")).toBe("“too late”");
  expect(quoted(undefined, "too late")).toBe("“too late”");
  expect(quoted("posthouse", "the branch went on without it")).toBe("the branch went on without it");
});

test("a checkpoint that cancels its branch says who did it and why", () => {
  const cancel = { kind: "cancel", seq: 12, by: "ann", error: "called off" };
  expect(cancelled(cancel, 12)).toBe("the branch was cancelled by ann: called off");
  expect(cancelled({ kind: "cancel", seq: 12 }, 12)).toBe("the branch was cancelled");
  expect(cancelled(cancel, 8)).toBeUndefined();
  expect(cancelled({ ...cancel, kind: "save" }, 12)).toBeUndefined();
});
