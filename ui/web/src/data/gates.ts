import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { api, get, type Gate } from "../api/client";

export type Place = "mine" | "open" | "decided";

/** Settled says which of those that wait no more: what became of them, and whether by oneself. */
export type Settled = { state: "decided" | "expired" | "withdrawn"; mine: boolean };

const pageSize = 200;

/** A list may be narrowed to questions of a name, a program, a thread, a person, a label or a text. */
export type Narrowed = {
  [n in "question" | "program" | "thread" | "requester" | "label" | "assigned" | "decider" | "q"]?: string;
};

const ofPlace = (place: Place, settled: Settled, narrowed: Narrowed) =>
  place === "decided"
    ? {
        ...narrowed,
        state: settled.state,
        limit: 50,
        ...(settled.mine ? { decider: "me" } : {}),
      }
    : {
        ...narrowed,
        state: "open" as const,
        order: "deadline" as const,
        limit: pageSize,
        counts: true,
        ...(place === "mine" ? { assignee: "me" } : {}),
      };

/** useGates lists gates by page: those that wait with the earliest deadline first, or the newest decisions. */
export const useGates = (
  place: Place,
  settled: Settled = { state: "decided", mine: false },
  { enabled = true, narrowed = {} }: { enabled?: boolean; narrowed?: Narrowed } = {},
) =>
  useInfiniteQuery({
    queryKey: ["live", "gates", place, ...(place === "decided" ? [settled.state, settled.mine] : []), narrowed],
    enabled,
    initialPageParam: "",
    queryFn: ({ pageParam, signal }) =>
      get(
        api.GET("/api/gates", {
          signal,
          params: { query: { ...ofPlace(place, settled, narrowed), ...(pageParam ? { cursor: pageParam } : {}) } },
        }),
      ),
    getNextPageParam: (last) => last.next,
  });

/** countOf says how many questions a list counted, or found more than that. */
export const countOf = (
  page: { counts?: Record<string, unknown>; more?: boolean } | undefined,
  name?: string,
): string => {
  const all = Object.entries(page?.counts ?? {}).filter(([n]) => name === undefined || n === name);
  const n = all.reduce((sum, [, count]) => sum + Number(count), 0);
  return page?.counts ? `${n.toLocaleString("en")}${page.more ? "+" : ""}` : "";
};

/** useSessions lists the approvals whose callers wait on a connection. No event tells of them. */
export const useSessions = () =>
  useQuery({
    queryKey: ["sessions"],
    queryFn: ({ signal }) => get(api.GET("/api/approvals", { signal })).then((l) => l.items),
    refetchInterval: 3000,
  });

export const useGate = (id: string | undefined, enabled = true) =>
  useQuery({
    queryKey: ["live", "gate", id],
    enabled: enabled && id !== undefined,
    queryFn: ({ signal }) => get(api.GET("/api/gates/{id}", { signal, params: { path: { id: id ?? "" } } })),
  });

/** useGrant reads a gate with what ran under its decision. */
export const useGrant = (id: string | undefined) =>
  useQuery({
    queryKey: ["live", "grant", id],
    enabled: id !== undefined,
    queryFn: ({ signal }) => get(api.GET("/api/gates/{id}/grant", { signal, params: { path: { id: id ?? "" } } })),
  });

/** useFailure reads why a branch failed; there is no data while it has not. */
export const useFailure = (thread: string, branch: string) =>
  useQuery({
    queryKey: ["live", "failure", thread, branch],
    queryFn: async ({ signal }) => {
      const { branches } = await get(api.GET("/api/threads/{id}", { signal, params: { path: { id: thread } } }));
      const at = branches?.find((b) => b.branch === branch);
      if (at?.status !== "failed") return null;
      const params = { path: { id: at.head }, query: { state: false } };
      return (await get(api.GET("/api/checkpoints/{id}", { signal, params }))).error ?? "";
    },
  });

/** inSession tells an approval whose caller waits on a connection from a gate. */
export const inSession = (gate: Pick<Gate, "kind">) => gate.kind === "session";
