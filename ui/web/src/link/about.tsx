import type { Gate } from "../api/client";
import { Said } from "../parts/said";
import { Ago, At, isSoon, left, useNow } from "../parts/time";
import { changesOf, licenseOf } from "../text/terms";
import type { Asked } from "./link";
import css from "./screen.module.css";

/** earlyEnd is when a link ends, if that is before its question does. */
export const earlyEnd = ({ expiresAt, gate }: Asked) =>
  !gate.expiresAt || Date.parse(expiresAt) < Date.parse(gate.expiresAt) - 1000 ? expiresAt : undefined;

/** About says who asks for what a link is about, until when, and who voted. */
export function About({ asked, gate, settled }: { asked: Asked; gate: Gate; settled: boolean }) {
  const votes = asked.votes ?? [];
  const now = useNow();
  const ends = earlyEnd(asked);
  return (
    <dl className={css.about}>
      <dt>asked by</dt>
      <dd>
        <strong>
          <Said>{gate.requestedBy ?? "the program"}</Said>
        </strong>{" "}
        <Ago at={gate.createdAt} />
      </dd>
      {(gate.assignees ?? []).length > 0 && (
        <>
          <dt>asked of</dt>
          <dd>
            <Said>{(gate.assignees ?? []).join(", ")}</Said>
          </dd>
        </>
      )}
      {!settled && (
        <>
          <dt>deadline</dt>
          <dd>{gate.expiresAt ? <At at={gate.expiresAt} /> : "none"}</dd>
          {ends && (
            <>
              <dt>this link</dt>
              <dd className={isSoon(undefined, ends, now) ? css.soon : undefined}>
                ends before that: <At at={ends} />, {left(ends, now)}. Then ask whoever sent it for another.
              </dd>
            </>
          )}
        </>
      )}
      {licenseOf(gate) && (
        <>
          <dt>license</dt>
          <dd>{licenseOf(gate)}</dd>
        </>
      )}
      {changesOf(gate).length > 0 && (
        <>
          <dt>changed</dt>
          <dd>
            <Said>{changesOf(gate).join("; ")}</Said>
          </dd>
        </>
      )}
      <dt>votes</dt>
      <dd>
        {asked.quorum
          ? `${votes.filter((v) => v.verdict === "approve").length} of ${asked.quorum.need} approvals`
          : "one decision is enough"}
        {votes.length > 0 && (
          <>
            : <Said>{votes.map((v) => `${v.by} ${v.verdict === "approve" ? "approves" : "rejects"}`).join(", ")}</Said>
          </>
        )}
      </dd>
    </dl>
  );
}
