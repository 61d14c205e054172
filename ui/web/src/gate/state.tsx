import { useMemo, useState } from "react";
import type { Gate } from "../api/client";
import { useCheckpoint } from "../data/checkpoints";
import { Failure } from "../parts/notice";
import { Value } from "../parts/value";
import { onRecord, pretty, type Node } from "../text/json";
import css from "./state.module.css";

/** State opens what the program knew when it asked, and the question as it is on record. */
export function State({ gate, payload }: { gate: Gate; payload: Node | undefined }) {
  const [open, setOpen] = useState(false);
  const [raw, setRaw] = useState(false);
  const checkpoint = useCheckpoint(gate.checkpoint, open);
  const state = useMemo(() => onRecord(checkpoint.data?.state), [checkpoint.data]);
  return (
    <>
      <details className={css.more} onToggle={(e) => setOpen(e.currentTarget.open)}>
        <summary>
          State <span>what the program knew when it asked</span>
        </summary>
        <div className={css.body}>
          {checkpoint.error && <Failure error={checkpoint.error} />}
          {state && <Value node={state} />}
        </div>
      </details>
      <details className={css.more} onToggle={(e) => setRaw(e.currentTarget.open)}>
        <summary>
          Raw <span>the payload as JSON, and the digest of the entry</span>
        </summary>
        {raw && (
          <div className={css.body}>
            <pre className={css.raw} tabIndex={0}>
              {payload ? pretty(payload) : "no payload"}
            </pre>
            <p className={css.digest}>
              entry #{gate.seq}, SHA-256 <code>{gate.hash}</code>
            </p>
          </div>
        )}
      </details>
    </>
  );
}
