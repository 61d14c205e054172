import { useQuery } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { api, get, type Schemas } from "../api/client";
import { isCounted, isOfNode, paramsOf, type Filter } from "../threads/filter";
import { useStanding } from "./programs";
import { begin, cursorOf, nextOf, put, renew, rowsOf, type Listing, type Page } from "../threads/order";

export type Thread = Schemas["Thread"];

/** These members are what a row shows. */
const fields = [
  "thread,status,graph,coordination,labels,branches,checkpoints,createdAt,updatedAt,dueAt,now",
  "unknownEffects,lease,releases",
].join();

const firstPage = 100;
const morePages = [200, 500, 1000]; // who scrolls on gets longer ones

const readPage = (filter: Filter, limit: number, cursor: string | undefined, signal?: AbortSignal) =>
  get(
    api.GET("/api/threads", {
      ...(signal ? { signal } : {}),
      params: { query: { ...paramsOf(filter), limit, fields, ...(cursor ? { cursor } : {}) } },
    }),
  ) as Promise<Page<Thread>>;

/**
 * useThreads lists threads by page, newest activity first. Events refresh the first page and the page
 * that seen names, which is the one on the screen. Give it a key by the filter: it begins once, with what
 * was read before, if anything is kept of that.
 */
export function useThreads(filter: Filter, kept?: Listing<Thread>) {
  const [listing, setListing] = useState(kept);
  const [seen, setSeen] = useState(-1);
  const [more, setMore] = useState<{ busy: boolean; error?: unknown }>({ busy: false });
  const head = useQuery({
    queryKey: ["live", "threads", filter],
    queryFn: ({ signal }) => readPage(filter, firstPage, undefined, signal),
  });
  useEffect(() => {
    const page = head.data;
    if (page) setListing((was) => (was ? renew(was, page) : begin(page)));
  }, [head.data]);
  const cursor = listing && seen >= 0 ? cursorOf(listing, seen) : undefined;
  const limit = (listing && seen >= 0 && listing.rest[seen]?.items.length) || 1;
  const again = useQuery({
    queryKey: ["live", "threads", filter, seen, cursor],
    enabled: cursor !== undefined,
    staleTime: Infinity, // until an event says so
    queryFn: ({ signal }) => readPage(filter, limit, cursor, signal),
    initialData: () => (seen >= 0 ? listing?.rest[seen] : undefined),
  });
  useEffect(() => {
    const page = again.data;
    if (page && seen >= 0) setListing((was) => was && put(was, seen, page));
    // Only what was read again is put: seen alone changes nothing.
  }, [again.data]);
  const busy = useRef(false);
  const next = listing && nextOf(listing);
  const read = listing?.rest.length ?? 0;
  const loadMore = useCallback(async () => {
    if (!next || busy.current) return;
    busy.current = true;
    setMore({ busy: true });
    try {
      const page = await readPage(filter, morePages[Math.min(read, morePages.length - 1)] ?? 1000, next);
      setListing((was) => was && put(was, read, page));
      setMore({ busy: false });
    } catch (error) {
      setMore({ busy: false, error });
    }
    busy.current = false;
  }, [filter, next, read]);
  const { rows, of } = useMemo(() => (listing ? rowsOf(listing) : { rows: [], of: [] }), [listing]);
  const see = useCallback((row: number) => setSeen(of[row] ?? -1), [of]);
  return {
    rows,
    listing,
    pending: !listing && !head.error,
    error: head.error,
    more,
    hasMore: next !== undefined,
    loadMore,
    see,
  };
}

/** useThreadCounts counts threads by status, those that the filter finds whatever their status is. At most 1,000 of each are counted. */
export function useThreadCounts({ status: _, ...filter }: Filter) {
  return useQuery({
    queryKey: ["thread counts", filter],
    enabled: isCounted(filter),
    refetchInterval: 5000, // counting costs more than a page
    queryFn: ({ signal }) =>
      get(
        api.GET("/api/threads", {
          signal,
          params: { query: { ...paramsOf(filter), counts: true, limit: 1, fields: "thread" } },
        }),
      ).then((l) => l.counts ?? {}),
  });
}

/** useShownCounts counts what a list of threads may be narrowed to: by the server, or as the standing of a node has it. */
export function useShownCounts(filter: Filter): { by?: Partial<Record<string, number>>; all?: number | undefined } {
  const counts = useThreadCounts(filter);
  const standing = useStanding(filter.program ?? "", isOfNode(filter));
  if (isOfNode(filter)) {
    const node = standing.data?.nodes.find((n) => n.node === filter.node);
    return standing.data ? { by: node?.statuses ?? {}, all: node?.threads ?? 0 } : {};
  }
  return isCounted(filter) && counts.data ? { by: counts.data } : {};
}

/** useUnknown counts threads with effects of an unknown outcome, among the newest that are looked at. */
export function useUnknown() {
  return useQuery({
    queryKey: ["thread counts", "unknown"],
    refetchInterval: 15_000,
    queryFn: ({ signal }) =>
      get(api.GET("/api/threads", { signal, params: { query: { unknown: true, limit: 100, fields: "thread" } } })).then(
        (l) => ({ count: l.items.length, more: l.next !== undefined }),
      ),
  });
}

/** useSaved counts threads without a status, among the newest that are looked at. */
export function useSaved() {
  return useQuery({
    queryKey: ["thread counts", "saved"],
    refetchInterval: 60_000, // it is found in threads' summaries, one by one
    queryFn: ({ signal }) =>
      get(
        api.GET("/api/threads", { signal, params: { query: { status: "saved", limit: 100, fields: "thread" } } }),
      ).then((l) => ({ count: l.items.length, more: l.next !== undefined })),
  });
}

/** usePrograms lists the programs that are served. */
export const usePrograms = (enabled = true) =>
  useQuery({
    queryKey: ["programs"],
    enabled,
    staleTime: 60_000,
    queryFn: ({ signal }) =>
      get(api.GET("/api/programs", { signal, params: { query: { limit: 1000 } } })).then((l) => l.items),
  });
