// Why a question was decided as it was, in the words of who decided it or in those of the runtime.

import type { Decision } from "../api/client";
import { useEntry } from "../data/entry";
import { Said } from "../parts/said";
import { quoted, runtime } from "../text/quoted";
import { cancelled } from "./cancelled";

/** What older records say of every question that is withdrawn, also where a person cancelled its branch. */
const older = "the branch went on without it";

/** Why says the reason of a decision. That of a question whose branch was cancelled says by whom. */
export function Why({ thread, decision: d }: { thread: string; decision: Decision }) {
  const looks = d.by === runtime && d.verdict === "cancel" && d.reason === older;
  const entry = useEntry(thread, looks ? d.seq : undefined);
  if (!d.reason) return null;
  return <Said>{(entry.data && cancelled(entry.data.records)) ?? quoted(d.by, d.reason)}</Said>;
}
