import { useQuery } from "@tanstack/react-query";
import { api, get, type Schemas } from "../api/client";
import { check, type Verdict } from "../text/proof";
import { inThread } from "../thread/address";
import { useKeysOnRecord } from "./proof";

export type Entry = Schemas["Entry"];

/** useEntry reads an entry as it is stored. One without a signature is covered by a later one, so it is read again. */
export const useEntry = (thread: string, seq: number | undefined) =>
  useQuery({
    queryKey: ["live", "entry", thread, seq],
    enabled: seq !== undefined,
    queryFn: ({ signal }) => {
      const { path, query } = inThread(thread);
      return get(
        api.GET("/api/threads/{id}/entries/{seq}", { signal, params: { path: { ...path, seq: String(seq) }, query } }),
      );
    },
  });

/** useVerdict checks an entry in this browser: its hash, its bytes, and the signature that covers it. */
export function useVerdict(entry: Entry | undefined): Verdict | undefined {
  const keys = useKeysOnRecord();
  const last = entry?.next.at(-1);
  const result = useQuery({
    queryKey: ["verdict", entry?.thread, entry?.seq, entry?.hash, last?.seq, keys.data?.length],
    enabled: entry !== undefined && (keys.data !== undefined || keys.isError),
    staleTime: Infinity,
    queryFn: () => check(entry as Entry, keys.data ?? []),
  });
  return result.error ? { kind: "unchecked", why: String(result.error) } : result.data;
}
