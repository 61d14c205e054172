import { useState } from "react";
import { Link } from "wouter";
import type { Fault, Report } from "../data/proof";
import { Button } from "../parts/button";
import { named } from "../parts/id";
import { Said } from "../parts/said";
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

const first = 50;

/** Faults shows what is wrong, in red, and what to do about it. */
export function Faults({ report }: { report: Report; strict: boolean }) {
  const [all, setAll] = useState(false);
  const faults = report.faults;
  if (faults.length === 0) return null;
  const shown = all ? faults : faults.slice(0, first);
  return (
    <section className={css.faults} aria-label="faults">
      <h2>{faults.length === 1 ? "One fault" : `${faults.length.toLocaleString("en")} faults`}</h2>
      <ul>
        {shown.map((f, i) => (
          <li key={i}>
            <p className={css.fault}>
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
            </p>
            {advice[f.kind] !== advice[shown[i + 1]?.kind ?? "hash"] || i === shown.length - 1 ? (
              <p className={css.advice}>{advice[f.kind]}</p>
            ) : null}
          </li>
        ))}
      </ul>
      {shown.length < faults.length && <Button onClick={() => setAll(true)}>Show all {faults.length}</Button>}
      <p className={css.advice}>
        Every step of a recovery is in the <a href="/docs">documentation</a>, under restore.
      </p>
    </section>
  );
}
