// What the list of threads is narrowed to, as its address says it.

export type Filter = {
  q?: string;
  status?: Status | "saved";
  unknown?: boolean;
  /** With released versions, also where nothing was begun since. */
  released?: boolean;
  program?: string;
  label?: string;
  node?: string;
  version?: string;
  /** by is who began it. */
  by?: string;
  /** since and until are days, as in 2026-01-31: it began on the first or later, and on the last or before. */
  since?: string;
  until?: string;
};

export type Status = "running" | "waiting" | "ready" | "interrupted" | "done" | "failed" | "cancelled";

/** statuses are those that the server counts. */
export const statuses: Status[] = ["waiting", "running", "failed", "interrupted", "ready", "done", "cancelled"];

const texts = ["q", "program", "label", "node", "version", "by"] as const;
const days = ["since", "until"] as const;

/** filterOf reads an address. What it does not know is left out. */
export function filterOf(search: string): Filter {
  const query = new URLSearchParams(search);
  const filter: Filter = {};
  for (const name of texts) {
    const text = query.get(name);
    if (text) filter[name] = text;
  }
  for (const name of days) {
    const day = query.get(name);
    if (day && startOf(day)) filter[name] = day;
  }
  const status = [...statuses, "saved" as const].find((s) => s === query.get("status"));
  if (status) filter.status = status;
  if (query.get("unknown") === "yes") filter.unknown = true;
  if (query.get("released") === "yes") filter.released = true;
  return filter;
}

/** addressOf writes the address of a list. */
export function addressOf(filter: Filter): string {
  const query = new URLSearchParams();
  if (filter.status) query.set("status", filter.status);
  if (filter.unknown) query.set("unknown", "yes");
  if (filter.released) query.set("released", "yes");
  for (const name of [...texts, ...days]) if (filter[name]) query.set(name, filter[name]);
  const text = query.toString();
  return text ? `/threads?${text}` : "/threads";
}

/** isNarrow says whether a filter leaves anything out. */
export const isNarrow = (filter: Filter) => addressOf(filter) !== "/threads";

/** startOf returns when a day begins, in the zone of this browser. more is how many days later. */
export function startOf(day: string, more = 0): Date | undefined {
  const [, year, month, date] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(day) ?? [];
  const at = new Date(Number(year), Number(month) - 1, Number(date) + more);
  return Number.isNaN(at.getTime()) ? undefined : at;
}

const isBegun = (f: Omit<Filter, "status">) => !!f.by || !!f.since || !!f.until;

/** isCounted says whether the server counts what a filter finds: not where it has to read logs for that. */
export const isCounted = (filter: Omit<Filter, "status">) =>
  !filter.unknown && !filter.released && !filter.node && !filter.version && !isBegun(filter);

/** standing is how a thread stands, in a word: what was saved by hand, and nothing runs, has no status. */
export const standing = (t: { status: string; releases?: number; branches?: unknown[] }): string =>
  t.status || (t.branches?.length ? "saved" : t.releases ? "archived" : "");

/** isOfNode says whether a filter finds what the standing of a program counts for a node: its status aside, that alone. */
export const isOfNode = (f: Filter) =>
  !!f.program && !!f.node && !f.q && !f.label && !f.version && !f.unknown && !f.released && !isBegun(f);

/** paramsOf returns a filter as the API takes it. */
export const paramsOf = ({
  q,
  status,
  unknown,
  released,
  program,
  label,
  node,
  version,
  by,
  since,
  until,
}: Filter) => ({
  ...(q ? { q } : {}),
  ...(status ? { status } : {}),
  ...(unknown ? { unknown } : {}),
  ...(released ? { released } : {}),
  ...(program ? { graph: program } : {}),
  ...(label ? { label } : {}),
  ...(node ? { node } : {}),
  ...(version ? { version } : {}),
  ...(by ? { by } : {}),
  ...(since ? { since: startOf(since)?.toISOString() ?? since } : {}),
  ...(until ? { until: startOf(until, 1)?.toISOString() ?? until } : {}),
});

/** labelFault says why a text is no label to narrow to, "" where it is one. */
export const labelFault = (text: string): string =>
  text.trim() === "" || typed(text).label
    ? ""
    : `A label is written as name=value: ${JSON.stringify(text.trim())} has no =.`;

/** typed reads what somebody typed into the search: name=value is a label, all else is searched for. */
export function typed(text: string): Pick<Filter, "q" | "label"> {
  const trimmed = text.trim();
  const at = trimmed.indexOf("=");
  if (at > 0) return { label: `${trimmed.slice(0, at).trim()}=${trimmed.slice(at + 1).trim()}` };
  return trimmed ? { q: trimmed } : {};
}
