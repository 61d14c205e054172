import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { api, get, type Schemas } from "../api/client";

export type Status = Schemas["StatusOf"];
export type Waits = Schemas["WaitsReport"];
export type Holders = Schemas["HoldersReport"];

/** beat is how often figures are read again, in milliseconds. */
export const beat = 2000;

/** useStatus reads what goes on in this server's process, and what its store is. */
export const useStatus = () =>
  useQuery({
    queryKey: ["status"],
    refetchInterval: beat,
    queryFn: ({ signal }) => get(api.GET("/api/status", { signal })),
  });

/** useRate returns how many commits a second there were, one figure for each time that it was read. */
export function useRate(status: Status | undefined, room: number): number[] {
  const [rates, setRates] = useState<number[]>([]);
  const last = useRef<{ at: number; commits: number } | undefined>(undefined);
  useEffect(() => {
    if (!status) return;
    const at = Date.parse(status.at);
    const before = last.current;
    last.current = { at, commits: status.commits };
    if (!before || at <= before.at || status.commits < before.commits) return; // another process answers
    const rate = ((status.commits - before.commits) / (at - before.at)) * 1000;
    setRates((was) => [...was, rate].slice(-room));
  }, [status, room]);
  return rates;
}

/** useWaits reports how long questions wait for people. Only an operator may. */
export const useWaits = (may: boolean) =>
  useQuery({
    queryKey: ["waits"],
    enabled: may,
    refetchInterval: 30_000, // all questions of a month are read for it
    queryFn: ({ signal }) => get(api.GET("/api/waits", { signal })),
  });

/** useOpen counts open questions by their names, and those about effects with an unknown outcome. */
export const useOpen = () =>
  useQuery({
    queryKey: ["live", "open questions"],
    queryFn: async ({ signal }) => {
      const query = { counts: true, limit: 1, fields: "id", values: "text" as const };
      const list = await get(api.GET("/api/gates", { signal, params: { query } }));
      return { counts: list.counts ?? {}, more: list.more ?? false };
    },
  });

export const useProcesses = (may: boolean) =>
  useQuery({
    queryKey: ["live", "processes"],
    enabled: may,
    queryFn: ({ signal }) => get(api.GET("/api/processes", { signal })),
  });
