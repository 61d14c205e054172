import { useEffect, useRef } from "react";
import { Link } from "wouter";
import type { Decision, Gate } from "../api/client";
import { inSession, useGate } from "../data/gates";
import { done, useOutcome } from "../gate/decide";
import { useSnoozed } from "../gate/snoozed";
import { named } from "../parts/id";
import { Said } from "../parts/said";
import { effectOf, isUnknown } from "../gate/right";
import { Ago, exact, isSoon, length, useNow } from "../parts/time";
import { useWidth } from "../parts/wide";
import type { Group } from "./order";
import css from "./list.module.css";

type Props = {
  groups: Group[];
  chosen: string | undefined;
  gone: Set<string>;
  address: (id: string) => string;
  decided: boolean;
  /** set is the address at which questions of a name are decided together, where some can be. */
  set: (group: Group) => string | undefined;
  /** only is the address of the questions of a name alone. */
  only: (group: Group) => string;
  /** count says how many questions of a name there are, also beyond the list. */
  count: (group: Group) => string;
};

/** fromList marks an entry of the browser's history that stands on top of the list, on a phone. */
export const fromList = "from the list";

/** List shows questions in two lines each, grouped by their name. */
export const List = ({ groups, chosen, gone, address, decided, set, only, count }: Props) => {
  const all = groups.flatMap((g) => g.gates);
  const stop = all.some((g) => g.id === chosen) ? chosen : all[0]?.id; // the list is one stop of Tab
  return groups.map((g) => (
    <section key={g.name} aria-label={g.name || "questions"}>
      {g.name && (
        <h2 className={css.group}>
          <Link href={only(g)} className={css.only} title="only these" data-rove tabIndex={-1}>
            <Said>{titleOf(g)}</Said>
          </Link>
          <span>
            <Together href={set(g)} />
            {count(g)}
          </span>
        </h2>
      )}
      <ul>
        {g.gates.map((gate) => (
          <Row
            key={gate.id}
            gate={gate}
            on={gate.id === chosen}
            stop={gate.id === stop}
            gone={gone.has(gate.id)}
            href={address(gate.id)}
            decided={decided}
          />
        ))}
      </ul>
    </section>
  ));
};

const titleOf = ({ gates, name }: Group) =>
  gates[0] && isUnknown(gates[0]) ? `${effectOf(gates[0])}: outcome unknown` : name;

const Together = ({ href }: { href: string | undefined }) =>
  href && (
    <Link href={href} className={css.set} data-rove tabIndex={-1}>
      decide together
    </Link>
  );

function Row({
  gate,
  on,
  stop,
  gone,
  href,
  decided,
}: {
  gate: Gate;
  on: boolean;
  /** stop says that Tab comes to this row. Arrows go on from it. */
  stop: boolean;
  gone: boolean;
  href: string;
  decided: boolean;
}) {
  const ref = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (on) ref.current?.scrollIntoView({ block: "nearest" });
  }, [on]);
  const wide = useWidth(900); // else the list is another place, which Back leads to
  const outcome = useOutcome(gate.id);
  const snoozed = useSnoozed(gate);
  const settled = decided || (gone && !snoozed) || outcome?.step === "acknowledged";
  // A question that left the list is on it as it was then: a vote that came since is read.
  const read = useGate(gate.id, settled && !gate.decision && !inSession(gate)).data;
  const now = read ?? gate;
  return (
    <li
      ref={ref}
      className={`${css.row} ${on ? css.on : ""} ${settled && !decided ? css.settled : ""} ${isUnknown(gate) && !settled ? css.unknown : ""}`}
    >
      <Link
        href={href}
        replace={wide}
        state={wide ? undefined : fromList}
        id={`row-${gate.id}`}
        aria-current={on ? "true" : undefined}
        data-rove
        data-gate={gate.id}
        tabIndex={stop ? 0 : -1}
      >
        <span className={css.intent}>
          <Said>{gate.intent}</Said>
        </span>
        <span className={css.end}>
          {settled ? (
            <Ended decision={now.decision} open={read?.state === "open"} who={decided} />
          ) : snoozed ? (
            <span className={css.quiet} title={exact(snoozed)}>
              snoozed
            </span>
          ) : (
            <Due gate={gate} />
          )}
        </span>
        <span className={css.about}>
          <Said>{about(now)}</Said>
        </span>
      </Link>
    </li>
  );
}

/** about says in one line where a question comes from. */
function about(gate: Gate): string {
  if (inSession(gate)) return "somebody waits on a connection";
  const votes = (gate.votes ?? []).filter((v) => v.verdict === "approve").length;
  return [
    gate.branch === "main" ? named(gate.thread) : `${named(gate.thread)} ${gate.branch}`,
    gate.requestedBy && `asked by ${gate.requestedBy}`,
    gate.quorum && `${votes} of ${gate.quorum.need}`,
    gate.supersedes && "replaces an older question",
  ]
    .filter(Boolean)
    .join(" · ");
}

function Due({ gate }: { gate: Gate }) {
  const now = useNow();
  if (!gate.expiresAt) return <span className={css.quiet}>no deadline</span>;
  const ms = Date.parse(gate.expiresAt) - now;
  return (
    <time dateTime={gate.expiresAt} className={isSoon(gate.createdAt, gate.expiresAt, now) ? css.soon : css.quiet}>
      {ms <= 0 ? "deadline passed" : length(ms)}
    </time>
  );
}

function Ended({ decision, open, who }: { decision: Decision | undefined; open: boolean; who: boolean }) {
  if (!decision) return <span className={css.quiet}>{open ? "waits for others" : "sent"}</span>;
  return (
    <span className={css.quiet}>
      {done(decision.verdict)}
      {who && isPersons(decision.verdict) && (
        <>
          {" "}
          by <Said>{decision.by}</Said>
        </>
      )}{" "}
      <Ago at={decision.at} />
    </span>
  );
}

/** isPersons tells a verdict of a person from what the runtime says of a question that waits no more. */
const isPersons = (verdict: string) => verdict !== "expire" && verdict !== "cancel";
