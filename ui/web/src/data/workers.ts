import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { api, get, Problem, type Schemas } from "../api/client";

export type Worker = Schemas["WorkerInfo"];
export type Queue = Schemas["Queue"];
export type Task = Schemas["Task"];
export type Letter = Schemas["Letter"];

/** beat is how often what no event tells of is read again, in milliseconds. */
const beat = 3000;

/** useWorkers lists who is connected. */
export const useWorkers = () =>
  useQuery({
    queryKey: ["workers"],
    queryFn: ({ signal }) => get(api.GET("/api/workers", { signal })).then((l) => l.items),
    refetchInterval: beat,
  });

export const useQueues = () =>
  useQuery({
    queryKey: ["live", "queues"],
    queryFn: ({ signal }) => get(api.GET("/api/queues", { signal })).then((l) => l.items),
    refetchInterval: beat,
  });

/** useTasks lists open tasks by page, or those that failed, the newest first. */
export const useTasks = (failed: boolean, task?: string) =>
  useInfiniteQuery({
    queryKey: ["live", "tasks", failed, task],
    initialPageParam: "",
    queryFn: ({ pageParam, signal }) =>
      get(
        api.GET("/api/tasks", {
          signal,
          params: {
            query: { failed, limit: 200, ...(task ? { task } : {}), ...(pageParam ? { cursor: pageParam } : {}) },
          },
        }),
      ),
    getNextPageParam: (last) => last.next,
    placeholderData: keepPreviousData,
  });

const unsupported = (error: unknown) => error instanceof Problem && error.code === "unsupported";

/** useLetters lists dead letters, the newest first. Only an operator may. */
export const useLetters = (may: boolean) =>
  useQuery({
    queryKey: ["letters"],
    enabled: may,
    queryFn: ({ signal }) => get(api.GET("/api/dead-letters", { signal, params: { query: { limit: 1000 } } })),
    // A server that says that it has no such list is not asked again.
    retry: false,
    refetchInterval: (q) => (unsupported(q.state.error) ? false : beat),
    refetchOnWindowFocus: (q) => !unsupported(q.state.error),
    refetchOnReconnect: (q) => !unsupported(q.state.error),
  });
