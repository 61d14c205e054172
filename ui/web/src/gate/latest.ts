import { useEffect, useMemo } from "react";
import type { Gate } from "../api/client";
import { inSession, useGate } from "../data/gates";

/**
 * useLatest reads a question by itself, with what a list does not have. What left its list is shown as it is
 * since then: somebody decided it, or one's own vote is on record and it waits for others.
 */
export function useLatest(listed: Gate, left: boolean, page: boolean): { gate: Gate; settled: boolean } {
  const now = useGate(listed.id, !page && !inSession(listed));
  const since = useMemo(() => now.dataUpdatedAt, [left]);
  useEffect(() => {
    if (left && !inSession(listed)) void now.refetch();
  }, [left]);
  const known = now.data && (now.data.state !== "open" || now.dataUpdatedAt > since) ? now.data : undefined;
  const gate = (left && known) || listed;
  const settled = gate.state !== "open" || (left && !known);
  const duplicates = settled ? undefined : (now.data ?? listed).duplicates;
  return { gate: useMemo(() => (duplicates ? { ...gate, duplicates } : gate), [gate, duplicates]), settled };
}
