import { useState, type ReactNode } from "react";
import { Link } from "wouter";
import { useGate } from "../data/gates";
import { bytes, type Checkpoint, useCheckpoint, useHeader } from "../data/checkpoints";
import { Chip } from "../parts/chip";
import { Id } from "../parts/id";
import { Said } from "../parts/said";
import { At, length } from "../parts/time";
import { WhyUnread } from "../parts/unread";
import { Value } from "../parts/value";
import { onRecord } from "../text/json";
import type { Schemas } from "../api/client";
import { Bars } from "./bars";
import { Slot } from "./slot";
import { Where } from "./where";
import { stepsOf, type Step } from "./steps";
import { Trace } from "./trace";
import type { PaneProps } from "./inspector";
import css from "./step.module.css";
import frame from "./inspector.module.css";

const maxRead = 1024 * 1024;

/** StepTab shows what ran between a checkpoint and the one before it: attempts, waits, notes, and where in the graph. */
export function StepTab({ thread, at, go }: PaneProps) {
  const { steps, node } = stepsOf(at);
  return (
    <>
      <div className={frame.head}>
        <h2 className={frame.title}>
          {at.node ? <Said>{at.node}</Said> : at.kind} <span>#{at.seq}</span>
        </h2>
        <span className={css.chips}>
          {(at.attempts ?? 0) > 1 && <Chip state="retried" times={(at.attempts ?? 0) - 1} />}
          {at.status && at.status !== "running" && <Chip state={at.status} />}
        </span>
      </div>
      <Facts at={at} />
      {at.error && (
        <section className={css.error} aria-label="error">
          <h3>Why it failed</h3>
          <p>
            <Said lines>{at.error}</Said>
          </p>
        </section>
      )}
      {node?.lastError && node.lastError !== at.error && (
        <section className={css.error} aria-label="earlier error">
          <h3>Last error, before it was tried again</h3>
          <p>
            <Said lines>{node.lastError}</Said>
          </p>
        </section>
      )}
      {(node?.notes ?? []).map((n, i) => (
        <Told key={i} note={n} />
      ))}
      {steps.length > 0 && (
        <>
          <h3 className={frame.title}>Steps</h3>
          <Bars at={at} steps={steps} />
          <ol className={css.steps}>
            {steps.map((s) => (
              <StepLine key={s.key} step={s} />
            ))}
          </ol>
        </>
      )}
      {(at.gates ?? []).length > 0 && <Asked gates={at.gates ?? []} />}
      {at.graph && <Where thread={thread} at={at} go={go} />}
    </>
  );
}

function Facts({ at }: { at: Checkpoint }) {
  const parent = useHeader(at.parentId);
  const whole = useCheckpoint(at.id, at.size <= maxRead);
  const { traceId, traceUrl } = whole.data ?? {};
  const took = at.beganAt ? Date.parse(at.createdAt) - Date.parse(at.beganAt) : undefined;
  const since = parent.data && Date.parse(at.beganAt ?? at.createdAt) - Date.parse(parent.data.createdAt);
  const rows: [string, ReactNode][] = [
    ["made", <At at={at.createdAt} />],
    ["took", took !== undefined && length(took)],
    [
      parent.data?.status === "waiting" ? "waited" : "after",
      since !== undefined && since > 0 && `${length(since)} since #${parent.data?.seq}`,
    ],
    ["attempts", (at.attempts ?? 0) > 1 && `${at.attempts}`],
    ["by", at.by && <Said>{at.by}</Said>],
    ["agent", at.agentName && <Said>{at.agentName}</Said>],
    ["runs next", (at.next ?? []).length > 0 && <Said>{(at.next ?? []).join(", ")}</Said>],
    ["run", at.run && <Id>{at.run}</Id>],
    ["version", at.fingerprint && <Id>{at.fingerprint}</Id>],
    ["trace", traceId && <Trace id={traceId} at={traceUrl} />],
  ];
  return (
    <dl className={css.facts}>
      {rows
        .filter(([, v]) => v)
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}

function StepLine({ step }: { step: Step }) {
  return (
    <li className={css.step}>
      <p className={css.name}>
        <strong>
          <Said>{step.name}</Said>
        </strong>
        {step.which && (
          <span>
            <Said>{step.which}</Said>
          </span>
        )}
        {step.effect && step.effect !== "pure" && <Effect name={step.effect} granted={step.grant !== undefined} />}
        {step.attempts > 1 && <Chip state="retried" times={step.attempts - 1} />}
        <span className={css.took}>{step.began && length(Date.parse(step.ended) - Date.parse(step.began))}</span>
      </p>
      {step.notes.map((n, i) => (
        <Told key={i} note={n} />
      ))}
      <Returned step={step} />
      {step.marks.length > 0 && (
        <ol className={css.marks}>
          {step.marks.map((m) => (
            <li key={m.seq}>
              <span>#{m.seq}</span> {m.text} <At at={m.at} />
              {m.error && (
                <p className={css.bad}>
                  <Said lines>{m.error}</Said>
                </p>
              )}
            </li>
          ))}
        </ol>
      )}
      {step.lastError && !step.marks.some((m) => m.error === step.lastError) && (
        <p className={css.bad}>
          last error: <Said lines>{step.lastError}</Said>
        </p>
      )}
      {step.grant && (
        <p className={css.also}>
          under <Link href={`/gates/${encodeURIComponent(step.grant)}`}>its decision</Link>
        </p>
      )}
    </li>
  );
}

const missing: Record<string, string> = {
  removed: "was removed",
  sealed: "is encrypted, and the server has no key",
  large: "is too large to show here",
};

/** Returned is what a step returned, as it is on record. */
function Returned({ step }: { step: Step }) {
  const value = step.codec === "json" ? onRecord(step.value) : undefined;
  if (value) {
    return (
      <Open title="result">
        <Value node={value} />
      </Open>
    );
  }
  if (!step.size) return null;
  const why = step.state ? (missing[step.state] ?? step.state) : `is in ${step.codec ?? "another codec"}, not JSON`;
  return (
    <p className={css.also}>
      its result of {bytes(step.size)} <Said>{why}</Said>
    </p>
  );
}

/** Effect says what a step does to the world. */
export const Effect = ({ name, granted }: { name: string; granted: boolean }) => (
  <span className={name === "write" || (name === "external" && !granted) ? `${css.effect} ${css.red}` : css.effect}>
    {name}
    {name === "external" && !granted && ", no decision"}
  </span>
);

/** Told is a note of the program: a line, the model that was called, what it read, and what it cost. */
function Told({ note }: { note: Schemas["Note"] }) {
  const input = onRecord(note.input);
  const values = onRecord(note.values);
  const tokens = note.inputTokens || note.outputTokens;
  const facts = [
    note.model,
    tokens && `${(note.inputTokens ?? 0).toLocaleString("en")} tokens in`,
    tokens && `${(note.outputTokens ?? 0).toLocaleString("en")} out`,
    note.cost,
  ].filter(Boolean);
  return (
    <div className={css.note}>
      {note.line && (
        <p>
          <Said lines>{note.line}</Said>
        </p>
      )}
      {facts.length > 0 && (
        <p className={css.also}>
          <Said>{facts.join(" · ")}</Said>
        </p>
      )}
      {input && (
        <Open title="input">
          <Value node={input} />
        </Open>
      )}
      {values && (
        <Open title="values">
          <Value node={values} />
        </Open>
      )}
    </div>
  );
}

function Open({ title, children }: { title: string; children: ReactNode }) {
  const [open, setOpen] = useState(false);
  return (
    <details className={css.open} onToggle={(e) => setOpen(e.currentTarget.open)}>
      <summary>{title}</summary>
      {open && children}
    </details>
  );
}

/** Asked are the questions and waits that a checkpoint opened. */
const Asked = ({ gates }: { gates: string[] }) => (
  <>
    <h3 className={frame.title}>Questions and waits</h3>
    {gates.slice(0, 50).map((g) => (
      <Question key={g} id={g} />
    ))}
    {gates.length > 50 && <p className={frame.quiet}>and {gates.length - 50} more</p>}
  </>
);

function Question({ id }: { id: string }) {
  const gate = useGate(id);
  const g = gate.data;
  if (!g) return gate.error ? <WhyUnread error={gate.error} /> : <p className={frame.quiet}>…</p>;
  const d = g.decision;
  return (
    <div className={css.step}>
      <p className={css.name}>
        <Link href={`/gates/${encodeURIComponent(id)}`}>
          <Said>{g.intent}</Said>
        </Link>
      </p>
      <p className={css.also}>
        {g.kind && g.kind !== "approval" && `${g.kind}, `}
        {d ? (
          <>
            <Said>{`${d.verdict} by ${d.by}`}</Said> <At at={d.at} />
          </>
        ) : (
          "open"
        )}
      </p>
      {g.kind === "task" && <Slot task={id} />}
    </div>
  );
}
