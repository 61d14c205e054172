// What a person may do about a question, in words.

const verdicts = ["approve", "reject", "edit", "respond"];

/** rightOf says whether the person may decide, and why not all that the question allows. To snooze is not to decide. */
export function rightOf({ may, barred }: { may: string[]; barred?: string }): string {
  const given = may.filter((m) => verdicts.includes(m));
  if (given.length === 0) return barred ? `not you: ${barred}` : "you may not decide this";
  return barred ? `you may ${given.join(" or ")} only: ${barred}` : "you may decide";
}
