import type { Decision, Schemas } from "../api/client";
import { useEntry, useVerdict } from "../data/entry";
import { Failure } from "../parts/notice";
import { Verdict } from "../parts/verdict";
import { compact, onRecord, stringOf } from "../text/json";
import type { Shown } from "../text/shown";

const textOf = (value: unknown) => {
  const node = onRecord(value);
  return node ? compact(node) : "";
};

/** Verified checks in this browser that a decision is what was written, and who signed it. */
export function Verified({ thread, decision }: { thread: string; decision: Decision }) {
  if (!decision.seq) return null;
  return (
    <Checked
      thread={thread}
      seq={decision.seq}
      safe="The decision stays on record."
      shown={{
        kind: "decision",
        of: { id: decision.gate },
        head: { verdict: decision.verdict, by: decision.by },
        body: {
          for: decision.for ?? "",
          actor: decision.actor ?? "",
          reason: decision.reason ?? "",
          at: decision.at,
          token: decision.token ?? "",
          shown: decision.shown ?? "",
          value: valueOf(decision),
        },
      }}
    />
  );
}

/** valueOf is the value of a decision as it is compared: a string without its quotes, anything else as JSON. */
function valueOf({ value }: Decision): string {
  const node = onRecord(value);
  return node ? (stringOf(node) ?? compact(node)) : "";
}

/** VerifiedUse checks in this browser that an effect ran under the decision of a gate, and what it returned. */
export function VerifiedUse({ use, gate }: { use: Schemas["Use"]; gate: string }) {
  if (use.status !== "executed" || !use.task) return null;
  return (
    <Checked
      thread={use.thread}
      seq={use.seq}
      safe="The receipt stays on record."
      shown={{
        kind: "step",
        of: { task: use.task, name: use.name, occurrence: use.occurrence ?? 0, branch: use.branch },
        head: { grant: gate },
        ...(use.codec ? {} : { whole: textOf(use.outcome) }),
      }}
    />
  );
}

function Checked({ thread, seq, safe, shown }: { thread: string; seq: number; safe: string; shown: Shown }) {
  const entry = useEntry(thread, seq);
  const found = useVerdict(entry.data, shown);
  if (entry.error) return <Failure error={entry.error} safe={safe} />;
  return <Verdict found={found} seq={seq} />;
}
