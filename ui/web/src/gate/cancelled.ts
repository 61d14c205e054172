type Change = { kind: string; seq: number; by?: string; error?: string };

/** cancelled says who cancelled a branch and why, if that is what made the checkpoint of an entry. */
export function cancelled(h: Change, seq: number | undefined): string | undefined {
  if (h.kind !== "cancel" || h.seq !== seq) return undefined;
  return `the branch was cancelled${h.by ? ` by ${h.by}` : ""}${h.error ? `: ${h.error}` : ""}`;
}
