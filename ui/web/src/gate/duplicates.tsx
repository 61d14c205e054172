// Questions on other branches of a thread, or in forks and copies of it, that ask the same: who approves both has it done twice.

import { TriangleAlert } from "lucide-react";
import { useMemo } from "react";
import { Link } from "wouter";
import type { Gate, Schemas } from "../api/client";
import { useGate } from "../data/gates";
import { Differing } from "../parts/difference";
import { Said } from "../parts/said";
import { At } from "../parts/time";
import { diff } from "../text/diff";
import { onRecord } from "../text/json";
import { done } from "./decide";
import css from "./duplicates.module.css";

export type Duplicate = Schemas["Duplicate"];

/** Duplicates names each of them, first what was done already. Where the page leads somewhere, it links to them. */
export function Duplicates({ of, gate }: { of: Duplicate[]; gate?: Gate }) {
  const sorted = [...of].sort((a, b) => Number(a.state === "open") - Number(b.state === "open"));
  return (
    <section className={css.duplicates} aria-label="asked elsewhere, too" role="note">
      {sorted.map((d) => (
        <div key={d.gate} className={d.state === "open" ? css.open : css.done}>
          <TriangleAlert size={14} strokeWidth={1.5} aria-hidden />
          <div>
            <p>
              <strong>
                <Place of={d} /> {d.state === "open" ? "asks for the same" : did(d)}:
              </strong>{" "}
              {gate ? (
                <Link href={`/gates/${encodeURIComponent(d.gate)}`}>
                  <Said>{d.intent}</Said>
                </Link>
              ) : (
                <Said>{d.intent}</Said>
              )}{" "}
              ({d.state === "open" ? "open" : <Decided d={d} />}).
            </p>
            <p className={css.so}>{so(d)}</p>
            {gate && <Differs of={d} gate={gate} />}
          </div>
        </div>
      ))}
    </section>
  );
}

/** Place is the branch that asks, or the thread if it is another one. */
const Place = ({ of: { thread, branch } }: { of: Duplicate }) =>
  thread ? (
    <>
      Thread <Said>{thread}</Said>
      {branch !== "main" && (
        <>
          , branch <Said>{branch}</Said>
        </>
      )}
    </>
  ) : (
    <Said>{branch}</Said>
  );

const Decided = ({ d }: { d: Duplicate }) => (
  <>
    {done(d.verdict ?? "")} by <Said>{d.by ?? ""}</Said>
    {d.at && (
      <>
        , <At at={d.at} />
      </>
    )}
    {d.status === "executed" && ", executed"}
    {d.status === "released" && ", under way"}
    {d.status === "unknown" && ", outcome unknown"}
  </>
);

/** did says what is known of the effects of a question that was answered. */
function did({ status, verdict }: Duplicate): string {
  if (status === "executed") return "did the same already";
  if (status === "released") return "is doing the same";
  if (status === "unknown") return "may have done the same";
  return verdict === "respond" ? "had an answer to the same" : "may do the same";
}

/** so says what an approval would lead to. */
export function so({ state, status, verdict }: Duplicate): string {
  if (state === "open") return "These are two questions. If both are approved, it is done twice.";
  if (status === "executed" || status === "released") return "If this one is approved, too, it is done twice.";
  if (status === "unknown") return "If this one is approved, too, it may be done twice.";
  return verdict === "respond"
    ? "It was answered in place of the action there."
    : "Nothing ran under that approval yet. If this one is approved, too, it is done twice.";
}

/** Differs shows where the values of this question differ from those of the other one. */
function Differs({ of, gate }: { of: Duplicate; gate: Gate }) {
  const other = useGate(of.gate);
  const members = useMemo(() => {
    const found = other.data && diff(onRecord(other.data.payload), onRecord(gate.payload));
    return found?.kind === "object" ? found.members.filter((m) => m.diff.kind !== "same") : [];
  }, [other.data, gate.payload]);
  if (members.length === 0) return null;
  return (
    <dl className={css.differs} aria-label="what differs here">
      {members.map((m, i) => (
        <div key={i}>
          <dt>
            <Said>{m.name}</Said>
          </dt>
          <dd>
            <Differing diff={m.diff} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** Again is the warning in a line, beside the button that sends an approval. */
export function Again({ of }: { of: Duplicate[] }) {
  const worst =
    of.find((d) => d.status === "executed" || d.status === "released") ?? of.find((d) => d.state !== "open") ?? of[0];
  if (!worst) return null;
  return (
    <>
      <Place of={worst} /> {worst.state === "open" ? "asks for the same" : did(worst)} (
      {worst.state === "open" ? "open" : <Decided d={worst} />}
      {of.length > 1 && `, and ${of.length - 1} more`}). {so(worst)}
    </>
  );
}
