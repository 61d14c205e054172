import { useState } from "react";
import { Link } from "wouter";
import type { Fault, Report } from "../data/proof";
import { Button } from "../parts/button";
import { named } from "../parts/id";
import { Said } from "../parts/said";
import { groups } from "../text/groups";
import css from "./proof.module.css";

const damaged =
  "Keep a copy of the store as it is, and write nothing more to it. Then restore the newest backup that verifies.";
const turned =
  "The store was put back, or its log was written anew. Compare it with the newest backup, and find out who could write to it.";
const signed = "Compare the key with the ones you keep elsewhere. If it is yours, add it to the file of public keys.";
const derived =
  "The log is whole; what lists read from it is not. Copy the store: posthouse store copy makes both again.";

/** advice says what to do about a fault of a kind. */
const advice: Record<Fault["kind"], string> = {
  hash: damaged,
  body: damaged,
  missing: damaged,
  chain: damaged,
  format: damaged,
  record: damaged,
  store: damaged,
  summary: derived,
  index: derived,
  signature: signed,
  "unknown-key": signed,
  "key-time": signed,
  unsigned:
    "A process without the key wrote this. Give every process that writes the key, or say which may do without.",
  grant: "Something acted without an approval. Look at the thread, and make the step propose before it acts.",
  rewound: turned,
  forked: turned,
  vanished: turned,
};

const few = 3; // shown of many that are of one kind
const step = 100;

/** Faults shows what is wrong, in red and by kind, and what to do about it. */
export function Faults({ report }: { report: Report; strict: boolean }) {
  const { faults } = report;
  if (faults.length === 0) return null;
  return (
    <section className={css.faults} aria-label="faults">
      <h2>{faults.length === 1 ? "One fault" : `${faults.length.toLocaleString("en")} faults`}</h2>
      {groups(faults, (f) => f.kind).map((g) => (
        <Kind key={g.key} faults={g.items} />
      ))}
      <p className={css.advice}>
        Every step of a recovery is in the <a href="/docs">documentation</a>, under restore.
      </p>
    </section>
  );
}

/** Kind shows the faults of a kind: all of a few, the first of many, and a hundred more each time. */
function Kind({ faults }: { faults: Fault[] }) {
  const [shown, setShown] = useState(faults.length > 10 ? few : faults.length);
  const kind = faults[0]?.kind;
  if (!kind) return null;
  const message = faults[0]?.message;
  const equal = faults.every((f) => f.message === message);
  const left = faults.length - shown;
  return (
    <>
      {faults.length > 10 && (
        <h3 className={css.fault}>
          {faults.length.toLocaleString("en")} × <b>{kind}</b>
          {equal && <Said>{message}</Said>}
        </h3>
      )}
      <ul>
        {faults.slice(0, shown).map((f, i) => (
          <li key={i} className={css.fault}>
            <b>{f.kind}</b>
            {f.thread && (
              <Link href={`/threads/${encodeURIComponent(f.thread)}`}>
                <Said>{named(f.thread)}</Said>
              </Link>
            )}
            {f.seq ? (
              <span>
                entry {f.seq}
                {f.through && f.through > f.seq ? ` to ${f.through}` : ""}
              </span>
            ) : null}
            <Said>{f.message}</Said>
          </li>
        ))}
      </ul>
      {left > 0 && (
        <p className={css.line}>
          <Button onClick={() => setShown(shown + step)}>Show {Math.min(step, left)} more</Button>
          <span>
            {shown.toLocaleString("en")} of {faults.length.toLocaleString("en")}
          </span>
        </p>
      )}
      <p className={css.advice}>{advice[kind]}</p>
    </>
  );
}
