import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { api, get, type Gate } from "../api/client";
import { usePrograms } from "../data/threads";
import { programPath } from "../programs/address";
import { threadPath } from "../thread/address";
import { standing } from "../threads/filter";

/** A Find is something that the palette goes to. also says more of it, in grey. */
export type Find = { key: string; name: string; also?: string | undefined; state?: string | undefined; to: string };

const most = 6;

/** isPart tells what may be an id, its ending, its shortened form or THREAD#N from a name that is typed. */
const isPart = (text: string) =>
  /^(gate-)?[0-9a-f-]{4,}$/i.test(text) || /^\S+…\S+$/.test(text) || /^\S+#\d+$/.test(text);

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

/** findIds finds questions and checkpoints by their whole ids, their endings, or as they are shortened. */
async function findIds(typed: string, signal: AbortSignal) {
  const list = await get(api.GET("/api/find", { signal, params: { query: { id: typed, limit: 50 } } }));
  const named = async (id: string): Promise<Partial<Gate>> =>
    get(api.GET("/api/gates/{id}", { signal, params: { path: { id } } })).catch(() => ({}));
  const gates = list.items.filter((p) => p.kind === "gate").slice(0, most);
  return {
    gates: await Promise.all(
      gates.map(async (p): Promise<Find> => {
        const gate = await named(p.id);
        return {
          key: p.id,
          name: gate.intent || p.about || p.id,
          also: p.thread,
          state: gate.state,
          to: `/gates/${encodeURIComponent(p.id)}`,
        };
      }),
    ),
    checkpoints: list.items
      .filter((p) => p.kind === "checkpoint")
      .slice(0, most)
      .map((p): Find => ({
        key: p.id,
        name: `${p.thread} #${p.seq}`,
        also: p.about,
        to: threadPath(p.thread, { at: p.id }),
      })),
  };
}

/** useFound asks the server for what a text names: threads by their name or id, questions and checkpoints by their ids. */
export function useFound(text: string) {
  const typed = useSettled(text.trim());
  const threads = useQuery({
    queryKey: ["palette", "threads", typed],
    enabled: typed.length <= 200,
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) => findThreads(typed, signal),
  });
  const ids = useQuery({
    queryKey: ["palette", "ids", typed],
    enabled: isPart(typed),
    retry: false,
    queryFn: ({ signal }) => findIds(typed, signal),
  });
  const programs = usePrograms();
  const named = (programs.data ?? [])
    .filter((p) => text.trim() !== "" && p.name.toLowerCase().includes(text.trim().toLowerCase()))
    .map((p): Find => ({ key: `program ${p.name}`, name: p.name, also: p.description, to: programPath(p.name) }));
  // What was found for another text stays only where it fits this one: Enter opens what is read.
  const stale = typed !== text.trim() || threads.isPlaceholderData;
  const fits = (f: Find) => !stale || f.name.startsWith(text.trim()) || f.name.endsWith(text.trim());
  return {
    busy: typed !== text.trim() || threads.isFetching || ids.isFetching,
    error: threads.error,
    threads: (threads.data?.finds ?? []).filter(fits),
    more: threads.data?.more ?? false,
    gates: stale ? [] : (ids.data?.gates ?? []),
    checkpoints: stale ? [] : (ids.data?.checkpoints ?? []),
    programs: named.slice(0, most),
  };
}
