// Branches that stand otherwise than their thread.

/** othersOf returns the statuses of branches that have not ended, beside that of the thread, with their branches. */
export function othersOf(
  status: string,
  branches: readonly { branch: string; status?: string }[] | undefined,
  only?: string,
): { status: string; branches: string[] }[] {
  const by = new Map<string, string[]>();
  for (const b of branches ?? []) {
    if (!b.status || b.status === status || b.status === "done" || b.status === "cancelled") continue;
    if (only && b.status !== only) continue;
    by.set(b.status, [...(by.get(b.status) ?? []), b.branch]);
  }
  return [...by].map(([s, names]) => ({ status: s, branches: names }));
}
