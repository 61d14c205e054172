import { describe, expect, it } from "vitest";
import { rightOf } from "./right";

describe("rightOf", () => {
  it("says who may decide, and why not all of it", () => {
    const barred = "operator asked for this and cannot approve it";
    expect(rightOf({ may: ["approve", "reject", "snooze"] })).toBe("you may decide");
    expect(rightOf({ may: ["reject", "snooze"], barred })).toBe(`you may reject only: ${barred}`);
    expect(rightOf({ may: ["snooze"], barred })).toBe(`not you: ${barred}`);
    expect(rightOf({ may: ["snooze"] })).toBe("you may not decide this");
  });
});
