import type { Letter } from "../data/workers";

/** What a worker asked for, by the last part of the address that it asked at. */
const asked: Record<string, string> = {
  connect: "to connect",
  claim: "to take a task",
  heartbeat: "to keep its tasks",
  load: "to read what it had saved",
  save: "to save its working state",
  signal: "to send a signal",
  stream: "to stream a piece of its output",
  records: "to read which steps are on record",
  record: "to put the result of a step on record",
  begin: "to begin an effect",
  end: "to say how an effect ended",
  resolve: "to say how its task ended",
  disconnect: "to leave",
};

export type Words = {
  /** who is a worker or a task, and what is the rest of the sentence around the name. */
  before: string;
  who: string;
  after: string;
  why: string;
  /** so is what it means for the task. */
  so: string;
  /** gate is the task's, where the message names it whole. */
  gate: string | undefined;
  /** again says whether sending it once more may help. */
  again: boolean;
};

/** nameOf reads a name as a part of an address has it: bytes other than letters, digits, - and _ are =XX. */
function nameOf(part: string | undefined): string {
  try {
    return decodeURIComponent((part ?? "").replace(/%/g, "%25").replace(/=([0-9A-F]{2})/g, "%$1"));
  } catch {
    return part ?? "";
  }
}

const reason = (text: string) =>
  text
    .replace(/^(request|hint): /, "")
    .replace(/^field ([\w.]+): /, "its $1 ")
    .replace(/^unexpected (end of JSON input|EOF)$/, "it is cut: its JSON has no end");

const isWhole = (text: string) => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

/** wordsOf says what a dead letter is, for people: text is what is kept of it, and kept how many bytes that is. */
export function wordsOf(l: Pick<Letter, "kind" | "subject" | "reason" | "size">, text: string, kept: number): Words {
  const gate = /"gate"\s*:\s*"([\w.:$-]{30,200})"/.exec(text)?.[1];
  const why = reason(l.reason);
  if (l.kind === "hint") {
    const task = nameOf(/\.hint\.([^.]+)\./.exec(l.subject)?.[1]);
    return {
      before: task ? "a task " : "a task",
      who: task,
      after: " is ready",
      why,
      so: "The task is on record and is found there: without this message that takes longer.",
      gate,
      again: l.size === kept && isWhole(text),
    };
  }
  const [, worker, method] = /\.task\.([^.]+)\.[^.]+\.([^.]+)$/.exec(l.subject) ?? [];
  return {
    before: worker ? "" : "a worker",
    who: nameOf(worker),
    after: ` asked ${(method && asked[method]) || "for something"}`,
    why,
    so: "Nothing of it is on record. Whoever asked was told, where the message says how; its task stays open.",
    gate,
    again: false,
  };
}
