import { useEffect, useRef } from "react";
import type { Gate } from "../api/client";
import { now } from "../api/clock";
import { Button } from "../parts/button";
import { Said } from "../parts/said";
import { wasHeard, type Outcome } from "./decide";
import { useReady } from "./ready";
import css from "./actions.module.css";

type Props = { name: string; gate: Gate; outcome: Outcome | undefined; reason: string; close: () => void };

/** Late says that others decided while a decision was being written, or that its time was over. What was typed stays. */
export function Late({ name, gate, outcome, reason, close }: Props) {
  // The focus is on what is said, not on Close: a key that was meant for the decision closes nothing.
  const said = useRef<HTMLDivElement>(null);
  const ready = useReady();
  useEffect(() => said.current?.focus(), []);
  const passed = !!gate.expiresAt && Date.parse(gate.expiresAt) <= now();
  const over = gate.state === "expired" || (gate.state === "open" && passed);
  const unheard = outcome?.step === "refused" && !wasHeard(outcome.error);
  const why = over ? "its deadline passed" : "it was decided";
  return (
    <footer className={css.bar}>
      <div ref={said} tabIndex={-1} className={css.in} role="alert">
        <div className={css.line}>
          <Button disabled={!ready} onClick={close}>
            Close
          </Button>
          <span className={css.barred}>
            {unheard
              ? `No answer came to “${name}”. Whether it arrived is on record: look who decided or voted.`
              : outcome
                ? `“${name}” came too late: ${why} before.`
                : `${why.charAt(0).toUpperCase()}${why.slice(1)} while you wrote. “${name}” was not sent.`}
          </span>
        </div>
        {reason && (
          <p className={css.typed}>
            You had written: “<Said>{reason}</Said>”
          </p>
        )}
      </div>
    </footer>
  );
}
