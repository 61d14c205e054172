// What a person may do about a question, in words.

import type { Gate } from "../api/client";
import type { Verb } from "./decide";

const verdicts = ["approve", "reject", "edit", "respond", "happened", "redo", "give-up"];

/** mayDecide says whether the person may give any verdict. To snooze is not to decide. */
export const mayDecide = ({ may }: { may: string[] }) => may.some((m) => verdicts.includes(m));

/** rightOf says what the person may decide, and why not all that the question allows. The bar says why they may do nothing. */
export function rightOf({ may, barred }: { may: string[]; barred?: string }): string {
  const given = may.filter((m) => verdicts.includes(m));
  if (given.length === 0) return "";
  return barred ? `you may ${given.join(" or ")} only: ${barred}` : "you may decide";
}

/** isUnknown tells the question what became of an effect from one whether to do something. */
export const isUnknown = (gate: Pick<Gate, "kind">) => gate.kind === "outcome";

/** effectOf names the effect whose outcome a question is about. */
export const effectOf = (gate: Pick<Gate, "name">) => gate.name.replace(/>?outcome(-\d+)?$/, "") || "the effect";

/** titleOf says what the values of a question are to the person. */
export function titleOf(gate: Pick<Gate, "kind" | "verdicts" | "may">, settled: boolean): string {
  if (settled) return "What was asked";
  if (isUnknown(gate)) return "What may have been done";
  const licenses = !gate.verdicts || gate.verdicts.some((v) => v === "approve" || v === "edit");
  if (!licenses) return "What the question is about";
  return gate.may.some((m) => m === "approve" || m === "edit") ? "What you approve" : "What is to be approved";
}

export type Word = { name: string; says: string; risk?: string };

/** moving are the words for handing the right on: they answer nothing. */
const moving: Partial<Record<Verb, Word>> = {
  delegate: {
    name: "Delegate",
    says: "Let somebody else decide in your place, until you take it back",
  },
  "take-back": { name: "Take it back", says: "Decide yourself again, as long as they have not" },
};

/** wordOf says what a verdict does to a question, in the words of the server. */
export function wordOf(gate: Pick<Gate, "answers">, verb: Verb): Word {
  const answer = gate.answers.find((a) => a.verb === verb);
  if (!answer) return moving[verb] ?? { name: verb, says: verb };
  return { name: answer.label, says: answer.does, ...(answer.risk ? { risk: answer.risk } : {}) };
}

/** handed is to whom a person handed their right, if they did and it is not taken back. */
export function handed({ assignments = [] }: Pick<Gate, "assignments">, me: string | undefined): string | undefined {
  const back = assignments.map((a) => a.takesBack ?? 0);
  const given = assignments.filter(
    (a) => a.by === me && !a.escalation && !a.substitution && !a.takesBack && !back.includes(a.seq ?? 0),
  );
  return given.at(-1)?.to[0];
}
