import type { Entry } from "../data/entry";
import { fromBase64 } from "../text/proof";

type Change = { kind?: string; by?: string; error?: string };

/** cancelled says who cancelled a branch in an entry, and why, if that is what the entry has and can be read. */
export function cancelled(records: Pick<Entry["records"][number], "kind" | "body" | "sealed">[]): string | undefined {
  for (const r of records) {
    if (r.kind !== "checkpoint" || !r.body || r.sealed) continue;
    const h = JSON.parse(new TextDecoder().decode(fromBase64(r.body))) as Change;
    if (h.kind === "cancel")
      return `the branch was cancelled${h.by ? ` by ${h.by}` : ""}${h.error ? `: ${h.error}` : ""}`;
  }
  return undefined;
}
