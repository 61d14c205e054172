// The steps of a checkpoint as people read them. On record each is a line with its name, its execution
// and when it began; the runtime adds marks of its own, whose names have a $.

import type { Checkpoint } from "../data/checkpoints";
import type { Schemas } from "../api/client";

type Event = Schemas["Step"];
type Note = Schemas["Note"];

export type Step = {
  key: string;
  name: string;
  /** which one of that name it is, of several */
  which: string;
  effect?: string;
  grant?: string;
  attempts: number;
  began?: string;
  ended: string;
  seq: number;
  notes: Note[];
  lastError?: string;
  /** marks are what happened on the way, oldest first */
  marks: { text: string; at: string; seq: number; error?: string }[];
  result: boolean;
  /** value is what it returned, if that was read; size and state say why not */
  value?: unknown;
  codec?: string;
  size?: number;
  state?: string;
};

const marks: Record<string, string> = {
  use: "began under the decision",
  failed: "failed, and is known not to have acted",
  attempt: "failed",
  done: "finished beside others",
};

/** nameOf splits a name on record into the step's and the runtime's mark. */
export function nameOf(name: string): { name: string; mark?: string } {
  const at = name.lastIndexOf("$");
  if (at < 0 || (at > 0 && name[at - 1] !== ">")) return { name };
  return { name: name.slice(0, Math.max(0, at - 1)), mark: name.slice(at + 1) };
}

/** stepsOf returns the steps that a checkpoint completes, oldest first, and what is told of its node. */
export function stepsOf(at: Checkpoint): { steps: Step[]; node: Event | undefined } {
  const by = new Map<string, Step>();
  let node: Event | undefined;
  for (const e of at.steps ?? []) {
    const s = e.step;
    if (!s) {
      if (e.kind === "checkpoint") node = e;
      continue;
    }
    const { name, mark } = nameOf(s.name);
    const task = s.task.slice(s.task.indexOf("/") + 1);
    const key = mark ? `${s.task}/${name}` : `${s.task}/${name}/${s.occurrence}`;
    const place = mark ? lastOf(by, key) : key;
    const step: Step = by.get(place) ?? {
      key: place,
      name: name || task,
      which: task === at.node || !task.includes("#") ? "" : task.slice(task.indexOf("#")),
      attempts: 0,
      ended: e.at,
      seq: e.seq,
      notes: [],
      marks: [],
      result: false,
    };
    by.set(place, step);
    step.ended = e.at;
    step.seq = e.seq;
    step.effect ??= s.effect;
    step.grant ??= s.grant;
    if (mark !== "attempt") step.lastError = e.lastError ?? step.lastError;
    step.attempts = Math.max(step.attempts, s.attempts ?? 0);
    step.notes.push(...(e.notes ?? []));
    if (mark) {
      step.began ??= s.beganAt ?? (mark === "use" ? e.at : undefined);
      const text = mark === "attempt" ? `attempt ${s.occurrence + 1} failed` : (marks[mark] ?? mark);
      step.marks.push({ text, at: e.at, seq: e.seq, ...(e.lastError ? { error: e.lastError } : {}) });
    } else {
      step.began = s.beganAt ?? step.began;
      step.result = true;
      if (e.result !== undefined) step.value = e.result;
      if (s.codec) step.codec = s.codec;
      if (e.resultSize) step.size = e.resultSize;
      if (e.resultState) step.state = e.resultState;
      if (s.occurrence > 0 && !step.which) step.which = `${s.occurrence + 1}`;
    }
  }
  return { steps: [...by.values()], node };
}

/** lastOf finds the step that a mark is about: the newest of its name that has no result yet. */
function lastOf(by: Map<string, Step>, prefix: string): string {
  const open = [...by.entries()].filter(([k, s]) => (k === prefix || k.startsWith(`${prefix}/`)) && !s.result);
  return open.at(-1)?.[0] ?? `${prefix}/0`;
}
