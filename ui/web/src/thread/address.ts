// The addresses of threads, and what the address of a thread's screen says beside its name.

import { useCallback, useMemo } from "react";
import { useLocation, useSearch } from "wouter";

export type Tab = "change" | "state" | "step" | "compare" | "entry";

/**
 * Where is what the address of a thread's screen says: the checkpoint looked at, the one pinned to compare with, the
 * tab, the branch, whether a fork is drafted, the entries that the rows are narrowed to, and the released version.
 */
export type Where = {
  at?: string;
  with?: string;
  tab: Tab;
  branch?: string;
  draft?: boolean;
  rows?: [number, number];
  version?: string;
};

const tabs: Tab[] = ["change", "state", "step", "compare", "entry"];

/** whereOf reads what the query of an address says. What it does not know is left out. */
export function whereOf(search: string): Where {
  const query = new URLSearchParams(search);
  const tab = tabs.find((t) => t === query.get("tab")) ?? "change";
  const text = (name: string) => query.get(name) || undefined;
  const range = /^(\d{1,15})-(\d{1,15})$/.exec(query.get("rows") ?? "");
  return {
    rows: range ? [Number(range[1]), Number(range[2])] : undefined,
    version: text("version"),
    at: text("at"),
    with: text("with"),
    tab,
    branch: text("branch"),
    draft: query.get("draft") === "yes" || undefined,
  };
}

/** entryOf reads the number of an entry, which people type in the place of a checkpoint's id. */
export const entryOf = (at: string | undefined): number | undefined => {
  const number = /^#?(\d{1,15})$/.exec(at ?? "")?.[1];
  return number === undefined ? undefined : Number(number);
};

/** searchOf writes the query of an address again, with other members of it as they are. */
export function searchOf(search: string, to: Partial<Where>): string {
  const query = new URLSearchParams(search);
  const where = { ...whereOf(search), ...to };
  const set = (name: string, value: string | undefined) => (value ? query.set(name, value) : query.delete(name));
  set("at", where.at);
  set("with", where.with);
  set("tab", where.tab === "change" ? undefined : where.tab);
  set("branch", where.branch);
  set("draft", where.draft ? "yes" : undefined);
  set("rows", where.rows?.join("-"));
  set("version", where.version);
  return query.toString();
}

type Go = (to: Partial<Where>, how?: { push: boolean }) => void;

/** pushed marks an entry of the browser's history that this page put on top of one of the same screen. */
const pushed = "pushed";

/**
 * useWhere returns what the address says, and a function that changes members of it, in its place or as a new
 * place. Absent values are left out. The last function leaves a new place again, as the browser's Back does.
 */
export function useWhere(): [Where, Go, Go] {
  const search = useSearch();
  const [, navigate] = useLocation();
  const where = useMemo(() => whereOf(search), [search]);
  const go = useCallback<Go>(
    (to, how) => {
      const query = searchOf(location.search, to);
      const state = how?.push ? pushed : (history.state as unknown);
      navigate(location.pathname + (query ? `?${query}` : ""), { replace: !how?.push, state });
    },
    [navigate],
  );
  const close = useCallback<Go>((to) => (history.state === pushed ? history.back() : go(to)), [go]);
  return [where, go, close];
}

/** No path leads to these names: browsers and servers take them for directories. */
const pathless = (thread: string) => thread === "." || thread === ".." || thread === "-";

/** threadPath is the address of a thread's screen. */
export const threadPath = (thread: string, to: Partial<Where> = {}): string => {
  const query = searchOf(pathless(thread) ? `thread=${encodeURIComponent(thread)}` : "", to);
  return `/threads/${pathless(thread) ? "-" : encodeURIComponent(thread)}${query ? `?${query}` : ""}`;
};

/** threadOf reads the name of a thread from an address. The router decodes paths in part, so it reads the path itself. */
export function threadOf(path: string, search: string): string {
  const last = path.split("/")[2] ?? "";
  if (last === "-") return new URLSearchParams(search).get("thread") ?? last;
  try {
    return decodeURIComponent(last);
  } catch {
    return last;
  }
}

/** inThread names a thread in a request: in the path, or beside it where no path leads to the name. */
export const inThread = <Q extends object = object>(thread: string, query?: Q) =>
  pathless(thread)
    ? { path: { id: "-" }, query: { ...query, thread } as Q & { thread?: string } }
    : { path: { id: thread }, query: { ...query } as Q & { thread?: string } };
