import { useQuery } from "@tanstack/react-query";
import { api, get } from "../api/client";
import { inThread } from "../thread/address";

/** useThread reads a thread's summary. */
export const useThread = (thread: string) =>
  useQuery({
    queryKey: ["live", "thread", thread],
    queryFn: ({ signal }) => get(api.GET("/api/threads/{id}", { signal, params: inThread(thread) })),
  });
