// What the screen of a thread reads first: the thread, and its newest rows. It is asked for while the screen
// itself is loaded.

import { api, get, type Schemas } from "../api/client";
import { inThread } from "../thread/address";
import { queries } from "./query";

type Row = Schemas["Row"];

/** Of is what rows are of: a thread as it is, or a released generation of it. */
export type Of = { thread: string; generation?: number };

/** A Head is the newest rows down to a place in the list, from which the others are read. */
export type Head = { rows: Row[]; next: string | undefined };

const firstPage = 200;

/** readRows reads so many rows from a place in the list, or from its head. */
export const readRows = ({ thread, generation }: Of, limit: number, cursor: string | undefined, signal: AbortSignal) =>
  get(
    api.GET("/api/threads/{id}/outline", {
      signal,
      params: inThread(thread, {
        details: true,
        limit,
        ...(cursor ? { cursor } : {}),
        ...(generation ? { generation } : {}),
      }),
    }),
  );

/** readHead reads what is new. Rows that were read before and are older stay as they are. */
async function readHead(of: Of, before: Head | undefined, signal: AbortSignal): Promise<Head> {
  const known = before?.rows[0]?.seq;
  const fresh: Row[] = [];
  let cursor: string | undefined;
  for (;;) {
    const page = await readRows(of, firstPage, cursor, signal);
    fresh.push(...page.items);
    cursor = page.next;
    const oldest = fresh.at(-1)?.seq;
    if (!cursor || oldest === undefined) return { rows: fresh, next: undefined };
    if (before === undefined || known === undefined) return { rows: fresh, next: cursor };
    if (oldest <= known) return { rows: [...fresh, ...before.rows.filter((r) => r.seq < oldest)], next: before.next };
    if (fresh.length >= 10 * firstPage) return { rows: fresh, next: cursor };
  }
}

/** threadQuery reads a thread's summary, or what it was as a released version. */
export const threadQuery = (thread: string, version?: string) => ({
  queryKey: ["live", "thread", thread, version ?? ""],
  queryFn: ({ signal }: { signal: AbortSignal }) =>
    get(api.GET("/api/threads/{id}", { signal, params: inThread(thread, version ? { version } : {}) })),
});

/** headQuery reads a thread's newest rows, and later what is new. */
export const headQuery = (of: Of) => {
  const queryKey = ["live", "rows", of.thread, of.generation ?? 0];
  return {
    queryKey,
    queryFn: ({ signal }: { signal: AbortSignal }) => readHead(of, queries.getQueryData<Head>(queryKey), signal),
    structuralSharing: false,
  };
};

/** readAhead begins to read a thread of which nothing is shown yet. What fails is read again where it is shown. */
export function readAhead(thread: string) {
  void queries.prefetchQuery(threadQuery(thread));
  void queries.prefetchQuery(headQuery({ thread }));
}
