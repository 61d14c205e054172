import { Link } from "wouter";
import type { Decision, Gate } from "../api/client";
import { inSession, useFailure, useGate, useGrant } from "../data/gates";
import { Card } from "../parts/card";
import { Said } from "../parts/said";
import { At } from "../parts/time";
import { Value } from "../parts/value";
import { onRecord } from "../text/json";
import { done, useOutcome } from "./decide";
import { useNewer } from "./neighbours";
import { Verified } from "./verified";
import { Why } from "./why";
import css from "./settled.module.css";

const to = (id: string) => `/gates/${encodeURIComponent(id)}`;

/** DecidedBy says who decided, for whom, by which way, and why. */
export function DecidedBy({ decision: d }: { decision: Decision }) {
  const sender = d.actor && d.actor !== d.by ? d.actor : "";
  return (
    <>
      {done(d.verdict)} by{" "}
      <strong>
        <Said>{d.by}</Said>
      </strong>
      {d.for && (
        <>
          {" "}
          for <Said>{d.for}</Said>
        </>
      )}
      {d.token ? (
        <>
          {" "}
          by an approval token
          {sender && (
            <>
              {" "}
              of <Said>{sender}</Said>
            </>
          )}
        </>
      ) : (
        sender && (
          <>
            , sent by <Said>{sender}</Said>
          </>
        )
      )}
    </>
  );
}

/** Answer shows the value that a decision gave: what was answered, or what was put in the place of what was asked. */
export function Answer({ decision }: { decision: Decision }) {
  const value = onRecord(decision.value);
  if (!value) return null;
  return (
    <div className={css.answer} role="group" aria-label="the answer">
      <Value node={value} />
    </div>
  );
}

/** Settled says in the inbox what became of a question: by whom, and what ran under the decision. */
export function Settled({ gate }: { gate: Gate }) {
  const outcome = useOutcome(gate.id);
  const grant = useGrant(inSession(gate) ? undefined : gate.id);
  const decision = grant.data?.gate.decision;
  const newer = useNewer({ ...gate, decision, state: decision ? "decided" : gate.state });
  const mine = outcome?.step === "acknowledged" ? outcome : undefined;
  return (
    <Card title="What became of it" label="outcome">
      <div className={css.body} role="status">
        {decision && (
          <p>
            <DecidedBy decision={decision} /> <At at={decision.at} />
            {decision.reason && (
              <>
                : <Why decision={decision} told={grant.data?.why} />
              </>
            )}
          </p>
        )}
        {decision && <Answer decision={decision} />}
        {decision && <Verified thread={gate.thread} decision={decision} />}
        {!mine && decision && <RunFailed gate={gate} />}
        {mine && (
          <p className={mine.state === "failed" || mine.state === "unknown" ? css.bad : undefined}>
            <Said>{mine.text}</Said>
          </p>
        )}
        {!decision && !mine && <p>It was answered meanwhile, or nobody waits for it any more.</p>}
        {newer && decision?.verdict === "edit" && <Edited newer={newer} />}
        {newer && decision?.verdict !== "edit" && (
          <p>
            It was replaced by a newer question. <Link href={to(newer)}>Look at the new question</Link>
          </p>
        )}
        {!inSession(gate) && (
          <p>
            <Link href={to(gate.id)}>Its whole life and receipt</Link>
          </p>
        )}
      </div>
    </Card>
  );
}

/**
 * Edited says what became of an edit that has a question of its own: whether that is asked now, or was
 * answered, by the edit itself or by others.
 */
function Edited({ newer }: { newer: string }) {
  const { data } = useGate(newer);
  if (!data) return null;
  if (data.state === "open")
    return (
      <p>
        Nothing is approved yet: what it was changed to is asked in a question of its own.{" "}
        <Link href={to(newer)}>Look at the new question</Link>
      </p>
    );
  return (
    <p>
      What it was changed to has a question of its own
      {data.decision && (
        <>
          : <DecidedBy decision={data.decision} /> <At at={data.decision.at} />
        </>
      )}
      . <Link href={to(newer)}>Look at that question</Link>
    </p>
  );
}

/** RunFailed says why the run failed that a decision let go on, if it did. */
export function RunFailed({ gate }: { gate: Pick<Gate, "thread" | "branch"> }) {
  const failure = useFailure(gate.thread, gate.branch);
  if (failure.data === undefined || failure.data === null) return null;
  return (
    <p className={css.bad} role="alert">
      The run failed: <Said>{failure.data || "why is not on record"}</Said>
    </p>
  );
}
