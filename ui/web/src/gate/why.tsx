import type { Decision } from "../api/client";
import { Said } from "../parts/said";
import { quoted } from "../text/quoted";

/** Why says why a question was decided: as the server tells it, or else as its decision has it on record. */
export function Why({ decision: d, told }: { decision: Decision; told?: string | undefined }) {
  const reason = told || d.reason;
  return reason ? <Said>{quoted(d.by, reason)}</Said> : null;
}
