import { useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useRef } from "react";
import { api, get, type Schemas } from "../api/client";
import { inThread } from "../thread/address";
import { headQuery, readRows, threadQuery, type Of } from "./head";

type Row = Schemas["Row"];

/** useThread reads a thread's summary, or what it was as a released version. */
export const useThread = (thread: string, version?: string) => useQuery(threadQuery(thread, version));

/** useUsage adds up what a thread used of models. Its log is read for it, so now and then. */
export const useUsage = (thread: string) =>
  useQuery({
    queryKey: ["usage", thread],
    staleTime: 10_000,
    refetchInterval: 30_000,
    queryFn: ({ signal }) => get(api.GET("/api/threads/{id}/usage", { signal, params: inThread(thread) })),
  });

const nextPage = 1000;
/** So many rows are read by themselves; those before are read once somebody scrolls there. */
const most = 20_000;

/**
 * useRows reads a thread's rows by page, the newest first, and follows its head. Rows do not change once
 * they are there, but for what became of questions: then all are read again.
 */
export function useRows(of: Of | undefined, waiting: string[] | undefined) {
  const client = useQueryClient();
  const { thread, generation } = of ?? { thread: "" };
  const rowsOf = { thread, ...(generation ? { generation } : {}) };
  const head = useQuery({ ...headQuery(rowsOf), enabled: of !== undefined });
  const anchor = head.data?.next;
  const older = useInfiniteQuery({
    queryKey: ["rows", thread, anchor],
    enabled: anchor !== undefined,
    initialPageParam: anchor,
    queryFn: ({ pageParam, signal }) => readRows(rowsOf, nextPage, pageParam, signal),
    getNextPageParam: (last) => last.next,
    structuralSharing: false,
    staleTime: Infinity,
  });
  const rows = useMemo(() => merge(head.data?.rows, older.data?.pages), [head.data, older.data]);
  const { hasNextPage, isFetching, fetchNextPage } = older;
  useEffect(() => {
    if (hasNextPage && !isFetching && rows.length < most) void fetchNextPage();
  }, [hasNextPage, isFetching, fetchNextPage, rows.length]);

  const asked = useRef(new Set<string>());
  useEffect(() => {
    if (!waiting) return;
    const settled = (older.data?.pages ?? [])
      .flatMap((p) => p.items.flatMap((r) => r.asked ?? []))
      .filter((w) => w.state === "open" && !waiting.includes(w.id) && !asked.current.has(w.id));
    for (const w of settled) asked.current.add(w.id);
    if (settled.length > 0) void client.invalidateQueries({ queryKey: ["rows", thread] });
  }, [client, older.data, thread, waiting]);

  return {
    rows,
    pending: head.isPending,
    error: head.error ?? older.error,
    /** All rows are read. */
    complete: head.data !== undefined && (anchor === undefined || (older.isSuccess && !hasNextPage)),
    more: () => {
      if (hasNextPage && !isFetching) void fetchNextPage();
    },
  };
}

function merge(head: Row[] | undefined, pages: { items: Row[] }[] | undefined): Row[] {
  const seen = new Set<string>();
  const all: Row[] = [];
  for (const row of [...(head ?? []), ...(pages ?? []).flatMap((p) => p.items)]) {
    if (seen.has(row.id)) continue;
    seen.add(row.id);
    all.push(row);
  }
  return all.sort((a, b) => b.seq - a.seq);
}

/** useNumbered reads which checkpoint has a number: whether the thread has that entry, and the checkpoint of it. */
export const useNumbered = (thread: string, seq: number | undefined) =>
  useQuery({
    queryKey: ["live", "numbered", thread, seq],
    enabled: seq !== undefined,
    queryFn: async ({ signal }) => {
      const of = { order: "asc" as const, limit: 1, ...(seq && seq > 1 ? { cursor: seq - 1 } : {}) };
      const log = await get(api.GET("/api/threads/{id}/log", { signal, params: inThread(thread, of) }));
      const entry = log.items.find((e) => e.seq === seq);
      return { there: !!entry, id: entry?.records.find((r) => r.checkpoint)?.checkpoint?.id };
    },
  });

/** useFirstRow reads how a thread began. */
export const useFirstRow = (thread: string, generation: number | undefined) =>
  useQuery({
    queryKey: ["first-row", thread, generation],
    enabled: generation !== undefined,
    queryFn: async ({ signal }) => {
      const params = inThread(thread, { order: "asc" as const, limit: 1, ...(generation ? { generation } : {}) });
      return (await get(api.GET("/api/threads/{id}/outline", { signal, params }))).items[0] ?? null;
    },
    staleTime: Infinity,
  });

export type Copied = { thread: string; by: string };

/** useCopied reads which thread this one is a copy of, and who made it: its log begins with that. */
export const useCopied = (thread: string, generation: number | undefined) =>
  useQuery({
    queryKey: ["copied", thread, generation],
    enabled: generation !== undefined,
    staleTime: Infinity,
    queryFn: async ({ signal }): Promise<Copied | null> => {
      const log = await get(api.GET("/api/threads/{id}/log", { signal, params: inThread(thread, { limit: 1 }) }));
      const first = log.items[0];
      if (!first || first.generation !== generation) return null;
      const note = first.records.find((r) => r.signal?.name === "$copied")?.signal;
      if (!note) return null;
      const { thread: of = "" } = (note.value ?? {}) as { thread?: string };
      return { thread: of, by: note.by ?? "" };
    },
  });

/** useCalled reads which threads a thread called, the newest first, at most 20. */
export const useCalled = (thread: string) =>
  useQuery({
    queryKey: ["live", "called", thread],
    queryFn: async ({ signal }) => {
      const query = { label: "parent", labelValue: thread, limit: 20 };
      const found = await get(api.GET("/api/checkpoints", { signal, params: { query } }));
      return [...new Set(found.map((c) => c.thread))].filter((t) => t !== thread);
    },
  });
