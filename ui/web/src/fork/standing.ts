import type { Schemas } from "../api/client";
import type { Act } from "./plan";

/** standing says in words whether what a decision licenses acts once the branch goes on, and whether people are asked before. */
export function standing(act: Pick<Act, "approval" | "outcome" | "asks">): { acts: boolean; words: string } {
  if (act.approval === "lapsed") return { acts: false, words: "people are asked again first: the approval has lapsed" };
  if (act.outcome === "give-up") return { acts: false, words: "it was given up, and does not act again" };
  if (act.outcome === "happened") return { acts: false, words: "its result was given, and it does not act again" };
  if (act.asks)
    return {
      acts: false,
      words:
        "it is not known what became of the last attempt: people are asked first, unless the program may repeat it",
    };
  return { acts: true, words: "people are not asked again" };
}

/** heading says what is tried, as in "pay is tried again, attempt 3". */
export function heading(act: Pick<Act, "name" | "occurrence" | "attempt" | "licenses" | "status">): string {
  if (!act.name) {
    const n = act.licenses ?? 1;
    return n === 1 ? "One effect that did not begin may act" : `${n} effects that did not begin may act`;
  }
  const name = act.name.split(">").at(-1) + (act.occurrence ? ` [${act.occurrence + 1}]` : "");
  if (act.status === "released") return `${name} goes on`;
  return act.attempt > 1 ? `${name} is tried again: attempt ${act.attempt}` : `${name} is tried`;
}

/** firstLine returns the first line of a text, at most 300 characters of it. */
export const firstLine = (text: string): string => {
  const line = text.split("\n", 1)[0] ?? "";
  return line.length > 300 ? `${line.slice(0, 300)}…` : line;
};

/** becameOf says how the attempts of a step ended that has no result. */
export function becameOf(t: Pick<Schemas["TriedStep"], "status" | "attempts">): string {
  const times = t.attempts === 1 ? "once" : `${t.attempts} times`;
  switch (t.status) {
    case "decided":
      return `was tried ${times}, and did not act`;
    case "unknown":
      return "was tried, and it is not known whether it acted: people are asked first, unless the program may repeat it";
    case "released":
      return "began, and waits for something";
  }
  return `failed ${times}`;
}

/** callOf is a call that was tried, as results are named: "price[1]" on record is the second. */
export const callOf = (name: string) => name.replace(/\[(\d{1,9})\]$/, (_, n: string) => ` [${Number(n) + 1}]`);

const answers: Record<string, string> = {
  approve: "approved",
  reject: "rejected",
  edit: "edited",
  respond: "answered",
  happened: "reported as done",
  redo: "ordered again",
  "give-up": "given up",
  expire: "ran out, ended",
  cancel: "cancelled",
};

/** answer is a verdict as it was given, before its "by". */
export const answer = (verdict: string) => answers[verdict] ?? verdict;

/** how says how a fork asks what its source asked. */
export const how = (g: Pick<Schemas["ForkGate"], "kind" | "failed">): string => {
  if (g.failed) return "handed out again";
  return g.kind === "approval" ? "asks" : `${g.kind}, waits`;
};
