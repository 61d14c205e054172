// What of a thread's rows is shown: those that a filter keeps, and runs of one node as one row.

import type { Schemas } from "../api/client";
import type { LaneRow } from "./lanes";

export type Row = Schemas["Row"];
export type Wait = Schemas["Wait"];

/** An Item is one row on the screen. It stands for more than one where a run is folded. */
export type Item = LaneRow & {
  row: Row;
  count: number;
  /** The entry that a fork was made from, if it is in this thread. */
  from?: number;
  /** Of a run that is folded: when its oldest row began. */
  since?: string;
  /** The node runs now: there is no such checkpoint yet. */
  now?: boolean;
};

export type Filter = "all" | "gates" | "effects" | "failures" | "forks" | "people";

export const filters: { filter: Filter; name: string; of: string }[] = [
  { filter: "all", name: "Everything", of: "checkpoints" },
  { filter: "gates", name: "Questions", of: "questions to people" },
  { filter: "effects", name: "Effects", of: "effects on the world" },
  { filter: "failures", name: "Failures", of: "failures and repeated attempts" },
  { filter: "forks", name: "Forks", of: "forks" },
  { filter: "people", name: "By people", of: "checkpoints that people made" },
];

const programs = new Set(["timer", "signal", "thread", "task"]);

/** asksPeople tells questions to people from what programs wait for. */
export const asksPeople = (w: Pick<Wait, "kind">) => !programs.has(w.kind ?? "");
export const questionOf = (r: Row): Wait | undefined => r.asked?.find(asksPeople);

/** isFork tells the first row of a fork from one that was copied with its thread: both name a source. */
export const isFork = (r: Pick<Row, "kind">) => r.kind === "fork";

/** failed tells a failed row from others with an error: a cancel has its reason there, a fork its source's error. */
export const failed = (r: Row) => r.status === "failed" || (!!r.error && r.status !== "cancelled" && !isFork(r));

/** retries says how often the node of a row, or a step of it, was tried again. */
export const retries = (r: Row): number => Math.max(r.attempts ?? 0, r.tries ?? 0, 1) - 1;

/**
 * joined gives each state that was saved by hand, and has no parent on record, the one that was saved
 * before it on its branch: together they are one line.
 */
export function joined(rows: Row[]): Row[] {
  const alone = (r: Row) => r.kind === "save" && !r.parent && !r.source;
  if (!rows.some(alone)) return rows;
  const before = new Map<string, string>();
  return rows
    .toReversed()
    .map((r) => {
      const parent = alone(r) ? before.get(r.branch) : undefined;
      before.set(r.branch, r.id);
      return parent === undefined ? r : { ...r, parent };
    })
    .reverse();
}

export const kept: Record<Filter, (r: Row) => boolean> = {
  all: () => true,
  gates: (r) => questionOf(r) !== undefined,
  effects: (r) => (r.effects ?? []).length > 0,
  failures: (r) => failed(r) || retries(r) > 0 || !!r.lastError,
  forks: isFork,
  people: (r) => !!r.by,
};

export type Choice = {
  thread: string;
  filter: Filter;
  /** Entries from and to, if a part of the thread is chosen. */
  between?: [number, number];
  /** Runs that are opened, by the newest row of each. */
  opened: ReadonlySet<string>;
  at?: string;
};

/** More rows than these of one node on a lane are a run. */
export const mostAlike = 5;

/** itemsOf returns what is shown, the newest first. */
export function itemsOf(rows: Row[], choice: Choice): Item[] {
  const { filter, between, at } = choice;
  const keep = kept[filter];
  const shown = rows.filter(
    (r) => r.id === at || (keep(r) && (!between || (r.seq >= between[0] && r.seq <= between[1]))),
  );
  const none = {
    counts: new Map<string, number>(),
    since: new Map<string, string>(),
    hidden: new Map<string, string>(),
  };
  const runs = filter === "all" ? runsOf(shown, rows, choice) : none;
  const visible = new Set(shown.filter((r) => !runs.hidden.has(r.id)).map((r) => r.id));
  const parents = new Map(rows.map((r) => [r.id, r.parent]));
  const entries = new Map(rows.map((r) => [r.id, r.seq]));
  const known = new Map<string, string | undefined>();
  const replacements = successors(rows);
  return shown
    .filter((r) => visible.has(r.id))
    .map((row) => {
      const count = runs.counts.get(row.id) ?? 1;
      const since = runs.since.get(row.id);
      const parent = nearest(row.id, parents, visible, known);
      const successor = replacements.get(row.id);
      const source = isFork(row) ? row.source : undefined;
      const from = source && row.parent ? entries.get(row.parent) : undefined;
      const foreign = source && source.thread !== choice.thread ? source.thread : undefined;
      return {
        id: row.id,
        branch: row.branch,
        row,
        count,
        ...(parent ? { parent } : {}),
        ...(from !== undefined ? { from } : {}),
        ...(successor ? { successor } : {}),
        ...(since ? { since } : {}),
        ...(foreign !== undefined ? { foreign } : {}),
      };
    });
}

/** nearest returns the first row below that is shown, or the first that is not read yet. */
function nearest(
  id: string,
  parents: Map<string, string | undefined>,
  visible: Set<string>,
  known: Map<string, string | undefined>,
): string | undefined {
  const passed: string[] = [];
  let at = parents.get(id);
  while (at !== undefined && !visible.has(at) && parents.has(at)) {
    if (known.has(at)) {
      at = known.get(at);
      break;
    }
    passed.push(at);
    at = parents.get(at);
  }
  for (const p of passed) known.set(p, at);
  return at;
}

/** successors says which row's question took the place of which. */
function successors(rows: Row[]): Map<string, string> {
  const opened = new Map<string, string>();
  for (const r of rows) for (const g of r.gates ?? []) opened.set(g, r.id);
  const all = new Map<string, string>();
  for (const r of rows)
    for (const w of r.asked ?? []) {
      const by = w.superseded && opened.get(w.superseded);
      if (by && by !== r.id) all.set(r.id, by);
    }
  return all;
}

function runsOf(shown: Row[], rows: Row[], { opened, at }: Choice) {
  const children = new Map<string, number>();
  const forked = new Set<string>();
  const branchOf = new Map(rows.map((r) => [r.id, r.branch]));
  for (const r of rows) {
    if (!r.parent) continue;
    children.set(r.parent, (children.get(r.parent) ?? 0) + 1);
    if (branchOf.get(r.parent) !== r.branch) forked.add(r.parent);
  }
  const plain = (r: Row) =>
    !!r.node &&
    r.status !== "failed" &&
    !r.error &&
    !r.by &&
    !questionOf(r) &&
    (r.effects ?? []).length === 0 &&
    retries(r) === 0 &&
    !r.lastError &&
    !forked.has(r.id) &&
    (children.get(r.id) ?? 0) <= 1 &&
    r.id !== at;
  const counts = new Map<string, number>();
  const since = new Map<string, string>();
  const hidden = new Map<string, string>();
  const current = new Map<string, Row[]>();
  const end = (branch: string) => {
    const run = current.get(branch) ?? [];
    current.delete(branch);
    const first = run[0];
    if (!first || run.length <= mostAlike || opened.has(first.id)) return;
    counts.set(first.id, run.length);
    const oldest = run.at(-1) ?? first;
    since.set(first.id, oldest.began ?? oldest.at);
    for (const r of run.slice(1)) hidden.set(r.id, first.id);
  };
  const heads = new Set<string>();
  for (const r of shown) {
    const head = !heads.has(r.branch);
    heads.add(r.branch);
    const run = current.get(r.branch);
    const goesOn = run?.at(-1)?.node === r.node && run?.at(-1)?.parent === r.id;
    if (!goesOn) end(r.branch);
    if (!head && plain(r)) current.set(r.branch, [...(goesOn ? (current.get(r.branch) ?? []) : []), r]);
    else end(r.branch);
  }
  for (const branch of [...current.keys()]) end(branch);
  return { counts, since, hidden };
}

/** lineOf returns the rows of a branch from its head down to the thread's begin, through what it was forked from. */
export function lineOf(rows: Row[], branch: string): Row[] {
  const byID = new Map(rows.map((r) => [r.id, r]));
  const line: Row[] = [];
  let at = rows.find((r) => r.branch === branch);
  while (at) {
    line.push(at);
    at = at.parent === undefined ? undefined : byID.get(at.parent);
  }
  return line;
}

/** runningNow makes rows of what branches do at the moment: their checkpoints are yet to come. */
export function runningNow(rows: Row[], branches: NonNullable<Schemas["Thread"]["branches"]>): Item[] {
  const byID = new Map(rows.map((r) => [r.id, r]));
  return branches.flatMap((b) => {
    const head = b.status === "running" ? byID.get(b.head) : undefined;
    if (!head?.next?.length) return [];
    const row = { ...head, id: `next of ${head.id}` };
    return [{ id: row.id, branch: b.branch, parent: head.id, row, count: 1, now: true, since: runsSince(head, byID) }];
  });
}

/** runsSince says since when a branch has gone on without a wait: its begin, or the end of its last wait, as far as its rows are read. */
export function runsSince(head: Row, byID: ReadonlyMap<string, Row>): string {
  let row = head;
  for (;;) {
    const waited = row.asked?.reduce((at, w) => Math.max(at, w.at ?? 0), 0) ?? 0;
    if (waited > 0) return new Date(waited).toISOString();
    const before = row.parent === undefined || row.kind === "input" || row.source ? undefined : byID.get(row.parent);
    if (!before) return row.began ?? row.at;
    row = before;
  }
}
