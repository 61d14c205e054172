import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { api, get } from "../api/client";
import { usePrograms } from "../data/threads";
import { programPath } from "../programs/address";
import { threadPath } from "../thread/address";
import { standing } from "../threads/filter";

/** A Find is something that the palette goes to. also says more of it, in grey. */
export type Find = { key: string; name: string; also?: string | undefined; state?: string | undefined; to: string };

const most = 6;
const isId = (text: string) => /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i.test(text);

/** useSettled returns a text once it has not changed for a moment. */
function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), 120);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}

async function findThreads(typed: string, signal: AbortSignal) {
  const query = { ...(typed ? { q: typed } : {}), limit: most, fields: "thread,status,now,graph,branches,releases" };
  const list = await get(api.GET("/api/threads", { signal, params: { query } }));
  const finds = list.items.map((t): Find => ({
    key: `thread ${t.thread}`,
    name: t.thread,
    also: t.now || t.graph,
    state: standing(t) || undefined,
    to: threadPath(t.thread),
  }));
  return { finds, more: list.next !== undefined };
}

/** useFound asks the server for what a text names: threads by their name or id, and a gate or checkpoint by its whole id. */
export function useFound(text: string) {
  const typed = useSettled(text.trim());
  const threads = useQuery({
    queryKey: ["palette", "threads", typed],
    enabled: typed.length <= 200,
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) => findThreads(typed, signal),
  });
  const gate = useQuery({
    queryKey: ["palette", "gate", typed],
    enabled: /^gate-/.test(typed),
    retry: false,
    queryFn: ({ signal }) =>
      get(api.GET("/api/gates/{id}", { signal, params: { path: { id: typed } } })).then((g): Find => ({
        key: g.id,
        name: g.intent || g.id,
        also: g.thread,
        state: g.state,
        to: `/gates/${encodeURIComponent(g.id)}`,
      })),
  });
  const checkpoint = useQuery({
    queryKey: ["palette", "checkpoint", typed],
    enabled: isId(typed),
    retry: false,
    queryFn: ({ signal }) =>
      get(api.GET("/api/checkpoints/{id}", { signal, params: { path: { id: typed }, query: { state: false } } })).then(
        (c): Find => ({
          key: c.id,
          name: `${c.thread} #${c.seq}`,
          also: c.node,
          state: c.status || "saved",
          to: threadPath(c.thread, { at: c.id }),
        }),
      ),
  });
  const programs = usePrograms();
  const named = (programs.data ?? [])
    .filter((p) => text.trim() !== "" && p.name.toLowerCase().includes(text.trim().toLowerCase()))
    .map((p): Find => ({ key: `program ${p.name}`, name: p.name, also: p.description, to: programPath(p.name) }));
  // What was found for another text stays only where it fits this one: Enter opens what is read.
  const stale = typed !== text.trim() || threads.isPlaceholderData;
  const fits = (f: Find) => !stale || f.name.startsWith(text.trim()) || f.name.endsWith(text.trim());
  return {
    busy: typed !== text.trim() || threads.isFetching || gate.isFetching || checkpoint.isFetching,
    error: threads.error,
    threads: (threads.data?.finds ?? []).filter(fits),
    more: threads.data?.more ?? false,
    gates: gate.data && !stale ? [gate.data] : [],
    checkpoints: checkpoint.data && !stale ? [checkpoint.data] : [],
    programs: named.slice(0, most),
  };
}
