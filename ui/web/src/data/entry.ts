import { useQuery } from "@tanstack/react-query";
import { api, get, type Schemas } from "../api/client";
import { check, type Verdict } from "../text/proof";
import type { Shown } from "../text/shown";
import { inThread } from "../thread/address";
import { usePinned } from "./pinned";
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

/**
 * useVerdict checks an entry in this browser: its hash, its bytes, the signature that covers it, and that what is shown of
 * one of its records is what was signed.
 */
export function useVerdict(entry: Entry | undefined, shown?: Shown): Verdict | undefined {
  const keys = useKeysOnRecord();
  const pinned = usePinned();
  const last = entry?.next.at(-1);
  const trusted = [...pinned, ...(keys.data ?? [])].map((k) => k.pem);
  const result = useQuery({
    queryKey: ["verdict", entry, last?.seq, trusted, shown],
    enabled: entry !== undefined && (keys.data !== undefined || keys.isError),
    staleTime: Infinity,
    queryFn: () => check(entry as Entry, { keys: keys.data ?? [], pinned }, shown),
  });
  return result.error ? { kind: "unchecked", why: String(result.error) } : result.data;
}
