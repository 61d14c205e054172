import { describe, expect, it } from "vitest";
import type { Gate } from "../api/client";
import { effectOf, rightOf, titleOf, wordOf } from "./right";

describe("rightOf", () => {
  it("says what a person may decide, and why not all of it; why nothing is said by the bar", () => {
    const barred = "operator asked for this and cannot approve it";
    expect(rightOf({ may: ["approve", "reject", "snooze"] })).toBe("you may decide");
    expect(rightOf({ may: ["reject", "snooze"], barred })).toBe(`you may reject only: ${barred}`);
    expect(rightOf({ may: ["snooze"], barred })).toBe("");
  });
});

describe("what a question says", () => {
  const of = (kind: string, verdicts: string[] | undefined, may: string[]) =>
    ({ kind, verdicts, may }) as unknown as Gate;
  it("approves nothing where an answer is asked, and where the person may not", () => {
    expect(titleOf(of("approval", ["approve", "reject"], ["approve"]), false)).toBe("What you approve");
    expect(titleOf(of("approval", undefined, ["approve"]), false)).toBe("What you approve");
    expect(titleOf(of("approval", ["approve", "reject"], []), false)).toBe("What is to be approved");
    expect(titleOf(of("form", ["respond", "reject"], ["respond"]), false)).toBe("What the question is about");
    expect(titleOf(of("outcome", ["approve"], ["approve"]), false)).toBe("What may have been done");
    expect(titleOf(of("approval", undefined, []), true)).toBe("What was asked");
  });
  it("names what a verdict does to an effect of unknown outcome", () => {
    const answers = [
      { verb: "redo", label: "Do it again", does: "It is done now", risk: "It may be done twice." },
      { verb: "happened", label: "It was done", does: "You give its result" },
    ];
    expect(wordOf({ answers } as Gate, "redo")).toEqual({
      name: "Do it again",
      says: "It is done now",
      risk: "It may be done twice.",
    });
    expect(wordOf({ answers } as Gate, "happened").name).toBe("It was done");
    expect(wordOf({ answers } as Gate, "delegate").name).toBe("Delegate");
    expect(effectOf({ name: "pay>outcome" })).toBe("pay");
    expect(effectOf({ name: "book>pay>outcome-2" })).toBe("book>pay");
    expect(effectOf({ name: "outcome" })).toBe("the effect");
  });
});
