import type { Draft, Outcome } from "./decide";

type Given = { verdict: string; by: string; reason?: string };

/** onRecordOf says what is on record of a decision that a person sent, or nothing if it is not theirs. */
export function onRecordOf(
  { decision, votes = [] }: { decision?: Given; votes?: Given[] },
  { verb, reason }: Pick<Draft, "verb" | "reason">,
  me: string,
): Outcome | undefined {
  const mine = (g: Given | undefined) => g?.verdict === verb && g.by === me && (g.reason ?? "") === reason;
  const is = (state: string, what: string): Outcome => ({
    step: "acknowledged",
    verb,
    state,
    text: `The answer was lost on its way, and your ${what} is on record.`,
  });
  if (mine(decision)) return is("decided", "decision");
  return votes.some(mine) ? is(decision ? "decided" : "waiting", "vote") : undefined;
}
