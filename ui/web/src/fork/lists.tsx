import { Link } from "wouter";
import type { Schemas } from "../api/client";
import { Fold } from "../parts/fold";
import { Said } from "../parts/said";
import type { Plan } from "./plan";
import { answer, becameOf, callOf, firstLine, how } from "./standing";
import css from "./lists.module.css";

type Step = Schemas["ForkStep"];
type Gate = Schemas["ForkGate"];
type Tried = Schemas["TriedStep"];
type Decision = Schemas["ForkDecision"];

const first = 12;

/** red says whether a step acts and no decision is asked for before: of class write or external, without a grant. */
export const red = (s: Step) => (s.effect === "write" || s.effect === "external") && !s.grant;

/** routed says how the next nodes of a fork with another state are chosen. */
export const routed = (plan: Pick<Plan, "routes" | "next">) =>
  plan.routes === "again"
    ? `The source chose ${plan.next.join(", ")}. Routes and maps choose again, from this state, when it is resumed.`
    : plan.routes === "kept"
      ? `${plan.next.join(", ")} stays next, as the source chose it.`
      : "";

const keyOf = (s: Step) => `${s.task}/${s.name}/${s.occurrence}`;

/** Lists say beforehand what a fork of a branch keeps, what runs again, and what asks or acts again. */
export function Lists({ plan, branch }: { plan: Plan; branch: string }) {
  const acting = new Set(plan.acts.map(keyOf));
  const again = plan.again.filter((s) => !acting.has(keyOf(s)));
  const tried = new Map(plan.tried.map((s) => [keyOf(s), s]));
  const bare = plan.acts.filter(red).length;
  return (
    <div className={css.lists} aria-label="what the fork does" role="group">
      <Group
        title="Kept"
        help="results on record count, and are not computed again"
        empty="nothing of an unfinished step"
      >
        {[
          ...plan.decided.map((d) => <AnswerLine key={d.gate} decision={d} />),
          ...plan.kept.map((s) => <StepLine key={keyOf(s)} step={s} />),
        ]}
      </Group>
      <Group
        title="Runs again"
        help={
          plan.next.length > 0 ? `from ${plan.next.join(", ")} on, as far as the source shows` : "nothing runs next"
        }
        empty={plan.next.length > 0 ? `${plan.next.join(", ")}, of which no result is on record` : "nothing"}
      >
        {[
          ...again.map((s) => <StepLine key={keyOf(s)} step={s} />),
          ...plan.tried
            .filter((s) => !acting.has(keyOf(s)))
            .map((s) => <StepLine key={`tried/${keyOf(s)}`} step={s} tried={s} />),
        ]}
      </Group>
      <Group
        title="Asks or acts again"
        help={bare > 0 ? `${bare} ${bare === 1 ? "acts" : "act"} without asking` : "nothing acts without a decision"}
        bad={bare > 0}
        last
        empty={plan.next.length > 0 ? "nothing on record" : "nothing does"}
      >
        {[
          ...plan.asks.map((g) => <GateLine key={g.gate} gate={g} branch={branch} />),
          ...plan.acts.map((s) => <StepLine key={`acts/${keyOf(s)}`} step={s} acts tried={tried.get(keyOf(s))} />),
        ]}
      </Group>
      {plan.routes && (
        <p className={css.more}>
          <Said>{routed(plan)}</Said>
        </p>
      )}
      {plan.next.length > 0 && <End end={plan.end} />}
      {plan.more ? <p className={css.more}>and {plan.more.toLocaleString("en")} more</p> : null}
    </div>
  );
}

/** Group is one of the lists, with its count. */
export function Group({
  title,
  help,
  bad,
  empty,
  last,
  children,
}: {
  title: string;
  help: string;
  bad?: boolean;
  /** It stands last where there is room, and first where there is little. */
  last?: boolean;
  empty: string;
  children: React.ReactNode[];
}) {
  const list = (some: React.ReactNode[]) => <ul>{some}</ul>;
  return (
    <section className={last ? `${css.group} ${css.acting}` : css.group} aria-label={title}>
      <h3>
        {title} <span>{children.length > 0 ? children.length : <Said>{empty}</Said>}</span>
      </h3>
      {children.length > 0 && (
        <p className={bad ? `${css.help} ${css.bad}` : css.help}>
          <Said>{help}</Said>
        </p>
      )}
      {children.length <= first ? (
        list(children)
      ) : (
        <Fold first={list(children.slice(0, first))} rest={() => list(children)} size={`${children.length}`} />
      )}
    </section>
  );
}

export function StepLine({ step, acts, tried }: { step: Step; acts?: boolean; tried?: Tried | undefined }) {
  const danger = acts && red(step);
  return (
    <li className={danger ? `${css.line} ${css.bad}` : css.line}>
      <span className={css.seq}>#{step.seq}</span>
      <span className={css.what}>
        <Said>{tried ? callOf(step.name) : step.name}</Said>
        {step.occurrence > 0 && ` [${step.occurrence + 1}]`}
      </span>
      {step.effect && step.effect !== "pure" && (
        <span className={css.class}>
          {step.effect}
          {acts && (danger ? ", acts again" : step.grant ? ", asks before" : "")}
        </span>
      )}
      {tried && (
        <span className={css.so}>
          {becameOf(tried)}
          {tried.error && (
            <>
              : <Said>{firstLine(tried.error)}</Said>
            </>
          )}
        </span>
      )}
    </li>
  );
}

const AnswerLine = ({ decision: d }: { decision: Decision }) => (
  <li className={css.line}>
    <span className={css.seq}>#{d.seq}</span>
    <span className={css.what}>
      <Link href={`/gates/${encodeURIComponent(d.gate)}`}>
        <Said>{d.name}</Said>
      </Link>
    </span>
    <span className={css.class}>
      {answer(d.verdict)} by <Said>{d.by}</Said>
    </span>
  </li>
);

/** End says how far the source shows what a fork does, and what is not known. */
function End({ end }: { end: Schemas["ForkEnd"] }) {
  const branch = <Said>{end.branch}</Said>;
  if (end.next.length === 0)
    return (
      <p className={css.more}>
        That is what {branch} did up to its end at #{end.seq}. With another state or another answer the fork may go
        another way.
      </p>
    );
  const next = <Said>{end.next.join(", ")}</Said>;
  return (
    <p className={css.more}>
      {end.status === "failed" ? (
        <>
          {branch} failed in {next} at #{end.seq}: <Said>{firstLine(end.error ?? "")}</Said>.{" "}
        </>
      ) : (
        <>
          {branch} has come to {next}, {end.status} at #{end.seq}.{" "}
        </>
      )}
      What else {next} asks or does is not known: its code decides that as it runs.
    </p>
  );
}

const GateLine = ({ gate, branch }: { gate: Gate; branch: string }) => (
  <li className={css.line}>
    <span className={css.seq}>#{gate.seq}</span>
    <span className={css.what}>
      <Link href={`/gates/${encodeURIComponent(gate.gate)}`}>
        <Said>{gate.name}</Said>
      </Link>
    </span>
    <span className={css.class}>
      {how(gate)} {gate.open ? "at once" : "when it comes there"}
    </span>
    {gate.failed && (
      <span className={css.so}>
        failed for good: <Said>{firstLine(gate.failed)}</Said>
      </span>
    )}
    {gate.waits && (
      <span className={`${css.stays} ${css.bad}`}>
        <Said>{branch}</Said> asks it now and goes on asking: if both are approved, it is done twice
      </span>
    )}
  </li>
);
