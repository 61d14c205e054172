import { Clock, Radio, Server, Split } from "lucide-react";
import { useState, type ReactNode } from "react";
import { Link } from "wouter";
import type { Gate } from "../api/client";
import { useDecides } from "../data/me";
import { useQueues } from "../data/workers";
import { Button } from "../parts/button";
import { Card } from "../parts/card";
import { Chip } from "../parts/chip";
import { named } from "../parts/id";
import { Hidden, Said } from "../parts/said";
import { At, left, useNow } from "../parts/time";
import { Value } from "../parts/value";
import { onRecord, texts } from "../text/json";
import { threadPath } from "../thread/address";
import { SendSignal } from "./signal";
import { endOf, isRetry, stateOf, titleOf, whatOf } from "./words";
import css from "./page.module.css";

const icon = { size: 20, strokeWidth: 1.5, "aria-hidden": true } as const;
const icons: Record<string, ReactNode> = {
  timer: <Clock {...icon} />,
  signal: <Radio {...icon} />,
  task: <Server {...icon} />,
  thread: <Split {...icon} />,
};

/** WaitPage is a wait that no person decides: what the thread waits for, until when, and what goes on by itself. */
export function WaitPage({ gate }: { gate: Gate }) {
  const now = useNow();
  const decides = useDecides();
  const [sending, setSending] = useState(false);
  const open = gate.state === "open";
  const value = onRecord(gate.decision?.value);
  const given = onRecord(gate.payload);
  return (
    <article className={css.page} aria-label="wait">
      <div className={css.in}>
        <p className={css.place}>
          <Link href={threadPath(gate.thread, { at: gate.checkpoint, branch: gate.branch })}>
            <Said>{named(gate.thread)}</Said>
          </Link>
          <span>
            <Said>{gate.branch}</Said> #{gate.seq}
          </span>
          <Chip
            state={stateOf(gate)}
            also={open && gate.expiresAt && gate.kind !== "thread" ? left(gate.expiresAt, now) : undefined}
          />
        </p>
        <h2 className={css.title}>
          {icons[gate.kind ?? ""]} <Said>{titleOf(gate)}</Said>
        </h2>
        <p className={css.quiet}>{open ? goesOn(gate) : endOf(gate)}</p>
        <Hidden texts={[gate.name, gate.signal, gate.text, ...texts(given), ...texts(value)]} />
        <dl className={css.facts}>
          {gate.createdAt && (
            <Fact name="since">
              <At at={gate.createdAt} />
            </Fact>
          )}
          {gate.expiresAt && (
            <Fact name={ends[gate.kind ?? ""] ?? "until"}>
              <At at={gate.expiresAt} />
            </Fact>
          )}
          {gate.kind === "timer" && whatOf(gate) && (
            <Fact name="for">
              <Said>{whatOf(gate)}</Said>
            </Fact>
          )}
          {gate.kind === "thread" && (
            <Fact name="thread">
              <Link href={threadPath(whatOf(gate))}>
                <Said>{named(whatOf(gate))}</Said>
              </Link>
            </Fact>
          )}
          {gate.kind === "task" && open && <Workers task={whatOf(gate)} />}
          {gate.call?.attempt !== undefined && <Fact name="attempt">{gate.call.attempt}</Fact>}
          {gate.call?.failure && (
            <Fact name="the last one failed">
              <Said>{gate.call.failure}</Said>
            </Fact>
          )}
          {gate.decision && (
            <Fact name="over">
              <At at={gate.decision.at} />
              {gate.decision.by && (
                <>
                  , by <Said>{gate.decision.by}</Said>
                </>
              )}
            </Fact>
          )}
          <Fact name="on record as">
            <code>
              <Said>{gate.name}</Said>
            </code>
          </Fact>
        </dl>
        {gate.kind === "signal" && open && decides && (
          <p>
            <Button onClick={() => setSending(true)}>Send the signal</Button>
          </p>
        )}
        {given && (
          <Card title="What is to be done">
            <div className={css.body}>
              <Value node={given} />
            </div>
          </Card>
        )}
        {value && (
          <Card title="What came">
            <div className={css.body}>
              <Value node={value} />
            </div>
          </Card>
        )}
      </div>
      <SendSignal
        open={sending}
        thread={gate.thread}
        awaited={[{ gate: gate.id, signal: whatOf(gate) }]}
        close={() => setSending(false)}
      />
    </article>
  );
}

const ends: Record<string, string> = { timer: "at", thread: "looks again" };

/** goesOn says what ends an open wait. */
function goesOn(gate: Gate): string {
  switch (gate.kind) {
    case "signal":
      return gate.expiresAt
        ? "Nobody decides this: the thread goes on when the signal comes, or when its time is over."
        : "Nobody decides this: the thread goes on when the signal comes.";
    case "task":
      return "Nobody decides this: the thread goes on when a worker has done it.";
    case "thread":
      return "Nobody decides this: the thread goes on when that one has ended.";
  }
  return isRetry(gate)
    ? "Nobody decides this: the next attempt begins by itself."
    : "Nobody decides this: the thread goes on by itself when its time has come.";
}

/** Workers says whether anybody is there to do a task. */
function Workers({ task }: { task: string }) {
  const queues = useQueues();
  const n = queues.data?.filter((q) => q.task === task).reduce((sum, q) => sum + q.workers, 0);
  return (
    <Fact name="workers">
      <Link href="/workers">
        {n === undefined
          ? "who is connected"
          : n === 0
            ? "none that does it is connected"
            : `${n} that ${n === 1 ? "does" : "do"} it`}
      </Link>
    </Fact>
  );
}

const Fact = ({ name, children }: { name: string; children: ReactNode }) => (
  <div>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
);
