import type { Decision } from "../api/client";
import { Said } from "../parts/said";
import { quoted } from "../text/quoted";

/** The runtime writes this before the reason of an edit, where the edit approves what was asked about it. */
const byEdit = /^edited gate gate-[\w-]+ to this\. ?/;

/** Why says why a question was decided: as the server tells it, or else as its decision has it on record. */
export function Why({ decision: d, told }: { decision: Decision; told?: string | undefined }) {
  const reason = told || d.reason;
  if (!reason) return null;
  if (d.verdict !== "approve" || !byEdit.test(reason)) return <Said>{quoted(d.by, reason)}</Said>;
  const typed = reason.replace(byEdit, "");
  return (
    <>
      by editing the question before it
      {typed && (
        <>
          , <Said>{quoted(d.by, typed)}</Said>
        </>
      )}
    </>
  );
}
