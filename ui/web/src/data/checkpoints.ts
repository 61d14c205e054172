import { useQuery } from "@tanstack/react-query";
import { api, get, type Schemas } from "../api/client";
import { endingOf } from "../thread/ending";

export type Checkpoint = Schemas["Checkpoint"];
export type Thread = Schemas["Thread"];

/** A checkpoint never changes, but what is told of its steps is noted after them. */
export const useStory = (id: string | undefined) =>
  useQuery({
    queryKey: ["live", "story", id],
    enabled: id !== undefined,
    queryFn: ({ signal }) =>
      get(
        api.GET("/api/checkpoints/{id}", {
          signal,
          params: { path: { id: id ?? "" }, query: { state: false, steps: true, results: true } },
        }),
      ),
  });

/** useCheckpoint reads a checkpoint with its state. */
export const useCheckpoint = (id: string, enabled: boolean) =>
  useQuery({
    queryKey: ["checkpoint", id],
    enabled,
    queryFn: ({ signal }) => get(api.GET("/api/checkpoints/{id}", { signal, params: { path: { id } } })),
  });

/** useHeader reads a checkpoint without its state. */
export const useHeader = (id: string | undefined) =>
  useQuery({
    queryKey: ["header", id],
    enabled: id !== undefined,
    staleTime: Infinity,
    queryFn: ({ signal }) =>
      get(api.GET("/api/checkpoints/{id}", { signal, params: { path: { id: id ?? "" }, query: { state: false } } })),
  });

/** useEnding reads when the branch of a head ended. It is null where no checkpoint of the thread says that. */
export const useEnding = (head: string | undefined) =>
  useQuery({
    queryKey: ["ending", head],
    enabled: head !== undefined,
    staleTime: Infinity,
    queryFn: ({ signal }) =>
      endingOf(head ?? "", (id) =>
        get(api.GET("/api/checkpoints/{id}", { signal, params: { path: { id }, query: { state: false } } })),
      ),
  });

/** useSavedBefore finds what was saved on a branch before a checkpoint that has no parent. There may be nothing. */
export const useSavedBefore = (at: Checkpoint) =>
  useQuery({
    queryKey: ["saved-before", at.id],
    enabled: at.kind === "save" && !at.parentId,
    staleTime: Infinity,
    queryFn: async ({ signal }) => {
      const { thread, branch, generation } = at;
      const query = { thread, branch, generation, until: at.createdAt, order: "desc" as const, limit: 5 };
      const found = await get(api.GET("/api/checkpoints", { signal, params: { query } }));
      return found.find((c) => c.seq < at.seq) ?? null;
    },
  });

/** useDiff compares two checkpoints, of one thread or of two. */
export const useDiff = (a: string | undefined, b: string | undefined) =>
  useQuery({
    queryKey: ["diff", a, b],
    enabled: a !== undefined && b !== undefined,
    staleTime: Infinity,
    queryFn: ({ signal }) => get(api.GET("/api/diff", { signal, params: { query: { a: a ?? "", b: b ?? "" } } })),
  });

/** headOf returns the head of the branch that is looked at: the one named, else main. */
export const headOf = (thread: Thread, branch: string | undefined): string | undefined =>
  (thread.branches?.find((b) => b.branch === branch) ?? thread.branches?.[0])?.head;

/** bytes says a size. */
export function bytes(n: number): string {
  if (n < 1024) return `${n} B`;
  if (n < 1024 * 1024) return `${(n / 1024).toFixed(n < 10 * 1024 ? 1 : 0)} KiB`;
  return `${(n / 1024 / 1024).toFixed(1)} MiB`;
}
