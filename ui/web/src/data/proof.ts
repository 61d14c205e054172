import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { api, get, type Schemas } from "../api/client";
import { readVerifications } from "./faulty";
import { many } from "../text/count";

export type Verification = Schemas["Verification"];
export type Report = Schemas["SignReport"];
export type Fault = Schemas["Fault"];
export type Key = Schemas["Key"];
export type Act = Schemas["Act"];
export type Token = Schemas["Token"];

/** useVerifications lists those of this server, the newest first, and follows one that runs. */
export const useVerifications = () =>
  useQuery({
    queryKey: ["verifications"],
    queryFn: readVerifications,
    refetchInterval: (q) => (q.state.data?.[0]?.state === "running" ? 400 : 10_000),
  });

/** useVerification reads one with its report. What is over does not change. */
export const useVerification = (v: Verification | undefined) =>
  useQuery({
    queryKey: ["verification", v?.id, v?.state],
    enabled: v?.state === "done",
    staleTime: Infinity,
    queryFn: ({ signal }) => get(api.GET("/api/verifications/{id}", { signal, params: { path: { id: v?.id ?? "" } } })),
  });

/** useFaults reads the faults of a kind by page: first a few, then a hundred each time. What is over does not change. */
export const useFaults = (verification: string, kind: Fault["kind"], first: number) =>
  useInfiniteQuery({
    queryKey: ["faults", verification, kind, first],
    staleTime: Infinity,
    initialPageParam: "",
    queryFn: ({ pageParam, signal }) => {
      const query = { kind, ...(pageParam ? { limit: 100, cursor: pageParam } : { limit: first }) };
      return get(api.GET("/api/verifications/{id}/faults", { signal, params: { path: { id: verification }, query } }));
    },
    getNextPageParam: (last) => last.next,
  });

/** useSince counts what came after a verification that is over. */
export const useSince = (v: Verification | undefined) =>
  useQuery({
    queryKey: ["since", v?.id],
    enabled: v?.state === "done",
    refetchInterval: 10_000,
    queryFn: ({ signal }) =>
      get(api.GET("/api/verifications/{id}/since", { signal, params: { path: { id: v?.id ?? "" } } })),
  });

/** useThreadCount says how many threads there are, for what walks all of them. */
export const useThreadCount = () =>
  useQuery({
    queryKey: ["live", "thread count"],
    queryFn: async ({ signal }) => {
      const query = { counts: true, limit: 1, fields: "thread" };
      const list = await get(api.GET("/api/threads", { signal, params: { query } }));
      const each = Object.values(list.counts ?? {}).map(Number);
      const all = each.reduce((a, b) => a + b, 0);
      const more = (list.more ?? false) || each.some((n) => many(n).endsWith("+"));
      return { all, more, counts: list.counts ?? {} };
    },
  });

/** useKeysOnRecord reads the public keys that signatures are checked with. */
export const useKeysOnRecord = () =>
  useQuery({
    queryKey: ["keys"],
    staleTime: 60_000,
    queryFn: ({ signal }) => get(api.GET("/api/keys", { signal })).then((l) => l.items),
  });

export const useEncryption = () =>
  useQuery({
    queryKey: ["encryption"],
    staleTime: Infinity,
    queryFn: ({ signal }) => get(api.GET("/api/encryption", { signal })),
  });

export const useTokens = (may: boolean) =>
  useQuery({
    queryKey: ["tokens"],
    enabled: may,
    queryFn: ({ signal }) => get(api.GET("/api/tokens", { signal })).then((l) => l.items),
  });

export type AuditQuery = { by?: string; kind?: NonNullable<Act["kind"]>; since?: string; until?: string };

/** most is how many pages of the trail one look reads: the trail is by thread, people ask by time. */
const most = 5;

/** useAudit reads acts of a period, and sorts them with the newest first. */
export const useAudit = (q: AuditQuery, may: boolean) =>
  useQuery({
    queryKey: ["audit", q],
    enabled: may,
    queryFn: async ({ signal }) => {
      const acts: Act[] = [];
      let cursor = "";
      for (let page = 0; page < most; page++) {
        const query = { ...q, limit: 1000, ...(cursor ? { cursor } : {}) } as never;
        const list = await get(api.GET("/api/audit", { signal, params: { query } }));
        acts.push(...list.items);
        cursor = list.next ?? "";
        if (!cursor) break;
      }
      acts.sort((a, b) => Date.parse(b.at) - Date.parse(a.at));
      return { acts, more: cursor !== "" };
    },
  });
