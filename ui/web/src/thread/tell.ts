// What a row says: its name, a few words beside it, its chip, and how long it took.

import { done } from "../gate/decide";
import { length } from "../parts/time";
import { asksPeople, failed, isFork, questionOf, retries, type Item, type Row, type Wait } from "./items";

const kinds: Record<string, string> = { fail: "failure", update: "update by hand" };

/** nameOf is the node's, or what kind of a checkpoint it is. A fork has the node of its source, which did not run there. */
export const nameOf = (row: Row): string => (isFork(row) ? "forked" : row.node || kinds[row.kind] || row.kind);

const markers: Record<string, string> = {
  $attempt: "an attempt failed",
  $use: "let go under its approval",
  $failed: "did not act",
  $parked: "waits",
  $claim: "taken by a worker",
  $undone: "did not act, says its worker",
};

/** stepOf names a step without the steps around it, and says what the runtime's own records are. */
export function stepOf(name: string): { name: string; words: string } {
  const parts = name.split(">");
  const words = markers[parts.at(-1) ?? ""];
  if (words !== undefined) parts.pop();
  return { name: parts.at(-1) ?? "", words: words ?? "" };
}

const names = (list: string[], most = 3): string =>
  list.slice(0, most).join(", ") + (list.length > most ? ` and ${list.length - most} others` : "");

const waits: Record<string, (w: Wait) => string> = {
  timer: (w) => (w.name.startsWith("$retry") ? "waits to be tried again" : "sleeps until a time"),
  signal: (w) => `waits for the signal ${w.name.replace(/^signal:/, "")}`,
  thread: (w) => (w.thread ? `waits for the thread ${w.thread}` : "waits for another thread"),
  task: (w) => `waits for a worker: ${w.name}`,
};

/** wordsOf says in one line what a row is about, and why it was tried again. */
export function wordsOf(item: Item): string {
  const { row } = item;
  const words = aboutOf(item);
  if (!row.lastError || row.lastError === row.error) return words;
  if (row.asked?.some((w) => w.name.startsWith("$retry"))) return `${words}: ${row.lastError}`;
  return [words, `last error: ${row.lastError}`].filter(Boolean).join(" · ");
}

function aboutOf(item: Item): string {
  const { row } = item;
  if (isFork(row)) {
    const from = item.foreign !== undefined ? `from ${item.foreign}` : item.from ? `from #${item.from}` : "";
    const made = [row.by && `by ${row.by}`, from].filter(Boolean).join(" ");
    return [made, row.next?.length ? `before ${names(row.next)}` : ""].filter(Boolean).join(", ");
  }
  if (row.error) return row.error;
  const asked = questionOf(row);
  if (asked) return asked.intent ?? asked.name;
  const open = row.effects?.find((e) => e.status === "unknown");
  if (open) return `${stepOf(open.name).name || row.node}: what became of it is not known`;
  const waited = row.asked?.[0];
  if (waited) return (waits[waited.kind ?? ""] ?? (() => waited.name))(waited);
  if (row.line) return row.line;
  const acts = (row.effects ?? []).map((e) => stepOf(e.name).name).filter((n) => n && n !== row.node);
  if (acts.length > 0) return names(acts);
  if (row.by) return `by ${row.by}`;
  return row.changed?.length ? `sets ${names(row.changed)}` : "";
}

export type Tag = { state: string; by?: string };

/** stateOfGate says what became of a question in a word that has a chip. */
export function stateOfGate(w: Wait): string {
  if (w.state === "open") return "waiting";
  if (w.superseded) return "superseded";
  return w.state === "decided" && w.verdict ? done(w.verdict) : w.state;
}

const told = new Set(["done", "failed", "cancelled", "interrupted", "paused", "ready"]);

/** tagOf is a row's chip. A head shows how its branch stands. */
export function tagOf(item: Item, head: string | undefined): Tag | undefined {
  const { row } = item;
  if (item.now) return { state: "running" };
  const asked = questionOf(row);
  if (asked) return { state: stateOfGate(asked), ...(asked.state === "decided" && asked.by ? { by: asked.by } : {}) };
  if (failed(row)) return { state: "failed" };
  if (row.status === "cancelled") return { state: "cancelled" };
  const effect = row.effects?.find((e) => e.status === "unknown") ?? row.effects?.at(-1);
  if (effect) return { state: effect.status };
  if (head && told.has(head)) return { state: head };
  if (isFork(row)) return { state: "forked" };
  if (row.asked?.some((w) => w.state === "open" && !asksPeople(w))) return { state: "waiting" };
  return undefined;
}

/** retriedOf says how often a row was tried again, and why the last time, or nothing. */
export function retriedOf(item: Item): { times: number; title: string } | undefined {
  const times = item.now || item.count > 1 ? 0 : retries(item.row);
  if (times === 0) return undefined;
  const why = item.row.lastError ? `; last error: ${item.row.lastError}` : "";
  return { times, title: `${times + 1} attempts${why}` };
}

/** tookOf says how long a row's node ran, its question waited, or a folded run went on. It is empty where that is not on record. */
export function tookOf({ row, since }: Pick<Item, "row" | "since">): string {
  const at = Date.parse(row.at);
  if (since) return length(Math.max(0, at - Date.parse(since)));
  const asked = questionOf(row);
  if (asked?.at) return length(Math.max(0, asked.at - at));
  return row.began ? length(Math.max(0, at - Date.parse(row.began))) : "";
}
