import { expect, test } from "vitest";
import { tooLong } from "./reason";

test("a reason is measured as it goes on record", () => {
  expect(tooLong("")).toBe("");
  expect(tooLong("a".repeat(4000))).toBe("");
  expect(tooLong("a".repeat(4001))).toContain("1 byte too long");
  expect(tooLong("ü".repeat(2000))).toBe("");
  expect(tooLong("ü".repeat(3000))).toContain("2,000 bytes too long");
});
