// What a person may do about a question, in words.

import type { Gate } from "../api/client";
import type { Verb } from "./decide";

const verdicts = ["approve", "reject", "edit", "respond"];

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

const words: Record<Verb, Word> = {
  approve: { name: "Approve", says: "Go on as proposed" },
  reject: { name: "Reject", says: "Do not" },
  edit: { name: "Edit", says: "Go on with changed values" },
  respond: { name: "Respond", says: "Answer in place of the action" },
  delegate: {
    name: "Delegate",
    says: "Let somebody else decide in your place, until you take it back",
  },
  "take-back": { name: "Take it back", says: "Decide yourself again, as long as they have not" },
};

/** An unknown outcome has the same verdicts, and they say something else. */
const unknown: Partial<Record<Verb, Word>> = {
  respond: { name: "It was done", says: "Give its result: it is not done again" },
  reject: { name: "Give it up", says: "It is neither done again nor has a result" },
  approve: {
    name: "Do it again",
    says: "It was not done, and is done now",
    risk: "If it was done after all, it is done twice. Look for it where it acts before you send this.",
  },
};

/** wordOf says what a verdict does to a question. */
export const wordOf = (gate: Pick<Gate, "kind">, verb: Verb): Word => (isUnknown(gate) && unknown[verb]) || words[verb];

/** handed is to whom a person handed their right, if they did and it is not taken back. */
export function handed({ assignments = [] }: Pick<Gate, "assignments">, me: string | undefined): string | undefined {
  const back = assignments.map((a) => a.takesBack ?? 0);
  const given = assignments.filter(
    (a) => a.by === me && !a.escalation && !a.substitution && !a.takesBack && !back.includes(a.seq ?? 0),
  );
  return given.at(-1)?.to[0];
}
