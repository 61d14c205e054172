import { expect, test } from "vitest";
import { onRecordOf } from "./recorded";

const sent = { verb: "approve", reason: "as agreed" } as const;
const given = { verdict: "approve", by: "carol", reason: "as agreed" };

test("a decision whose answer was lost is known by what is on record", () => {
  expect(onRecordOf({ decision: given }, sent, "carol")).toMatchObject({
    step: "acknowledged",
    state: "decided",
  });
  expect(onRecordOf({ votes: [given] }, sent, "carol")).toMatchObject({
    step: "acknowledged",
    state: "waiting",
  });
  expect(onRecordOf({ decision: { ...given, by: "bob" }, votes: [given] }, sent, "carol")?.step).toBe("acknowledged");
});

test("what another person, or in another way, decided is not taken for it", () => {
  expect(onRecordOf({}, sent, "carol")).toBeUndefined();
  expect(onRecordOf({ decision: { ...given, by: "bob" } }, sent, "carol")).toBeUndefined();
  expect(onRecordOf({ decision: { ...given, verdict: "reject" } }, sent, "carol")).toBeUndefined();
  expect(onRecordOf({ votes: [{ ...given, reason: "earlier" }] }, sent, "carol")).toBeUndefined();
  expect(onRecordOf({ decision: { verdict: "approve", by: "carol" } }, { ...sent, reason: "" }, "carol")).toBeDefined();
});
