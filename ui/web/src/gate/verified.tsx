import type { Decision } from "../api/client";
import { useEntry, useVerdict, type Entry } from "../data/entry";
import { Failure } from "../parts/notice";
import { Verdict } from "../parts/verdict";
import { fromBase64 } from "../text/proof";

/** Verified checks in this browser that a decision is what was written, and who signed it. */
export function Verified({ thread, decision }: { thread: string; decision: Decision }) {
  const entry = useEntry(thread, decision.seq);
  const found = useVerdict(entry.data);
  if (!decision.seq) return null;
  if (entry.error) return <Failure error={entry.error} safe="The decision stays on record." />;
  const other = entry.data && differs(entry.data, decision);
  return <Verdict found={other ? { kind: "broken", why: other } : found} seq={decision.seq} />;
}

/** differs says how a decision that is shown differs from the bytes of its entry. Encrypted bytes are not compared. */
function differs(entry: Entry, shown: Decision): string | undefined {
  const records = entry.records.filter((r) => r.kind === "decision");
  if (records.length === 0) return `entry #${entry.seq} has no decision`;
  const readable = records.filter((r) => r.body && !r.sealed);
  if (readable.length < records.length) return undefined;
  const written = readable.map((r) => JSON.parse(new TextDecoder().decode(fromBase64(r.body ?? ""))) as Decision);
  const mine = written.find((d) => d.gate === shown.gate);
  if (!mine) return `entry #${entry.seq} decides another question`;
  const names = ["verdict", "by", "reason", "at"] as const;
  const wrong = names.find((n) => (mine[n] ?? "") !== (shown[n] ?? ""));
  return wrong && `the decision that is shown has another ${wrong} than entry #${entry.seq}`;
}
