import { Link } from "wouter";
import type { Schemas } from "../api/client";
import { Fold } from "../parts/fold";
import { Said } from "../parts/said";
import type { Plan } from "./plan";
import css from "./lists.module.css";

type Step = Schemas["ForkStep"];
type Gate = Schemas["ForkGate"];

const first = 12;

/** red says whether a step acts without a decision of its own: of class write, or external without a grant. */
export const red = (s: Step) => s.effect === "write" || (s.effect === "external" && !s.grant);

/** Lists say beforehand what a fork of a branch keeps, what runs again, and what asks or acts again. */
export function Lists({ plan, branch }: { plan: Plan; branch: string }) {
  const acting = new Set(plan.acts.map((s) => `${s.task}/${s.name}/${s.occurrence}`));
  const again = plan.again.filter((s) => !acting.has(`${s.task}/${s.name}/${s.occurrence}`));
  const bare = plan.acts.filter(red).length;
  return (
    <div className={css.lists} aria-label="what the fork does" role="group">
      <Group
        title="Kept"
        help="results on record count, and are not computed again"
        empty="nothing of an unfinished step"
      >
        {plan.kept.map((s) => (
          <StepLine key={`${s.seq}/${s.name}/${s.occurrence}`} step={s} />
        ))}
      </Group>
      <Group
        title="Runs again"
        help={
          plan.next.length > 0 ? `from ${plan.next.join(", ")} on, as far as the source shows` : "nothing runs next"
        }
        empty="nothing is known to"
      >
        {again.map((s) => (
          <StepLine key={`${s.seq}/${s.name}/${s.occurrence}`} step={s} />
        ))}
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
          ...plan.acts.map((s) => <StepLine key={`${s.seq}/${s.name}/${s.occurrence}`} step={s} acts />),
        ]}
      </Group>
      {plan.next.length > 0 && (
        <p className={css.more}>
          What <Said>{plan.next.join(", ")}</Said> does that was not done before is not on record: it may ask or act.
        </p>
      )}
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
        {title} <span>{children.length > 0 ? children.length : empty}</span>
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

export function StepLine({ step, acts }: { step: Step; acts?: boolean }) {
  const danger = acts && red(step);
  return (
    <li className={danger ? `${css.line} ${css.bad}` : css.line}>
      <span className={css.seq}>#{step.seq}</span>
      <span className={css.what}>
        <Said>{step.name}</Said>
        {step.occurrence > 0 && ` [${step.occurrence + 1}]`}
      </span>
      {step.effect && step.effect !== "pure" && (
        <span className={css.class}>
          {step.effect}
          {acts && (danger ? ", acts again" : step.grant ? ", asks before" : "")}
        </span>
      )}
    </li>
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
      {gate.kind === "approval" ? "asks" : `${gate.kind}, waits`} {gate.open ? "at once" : "when it comes there"}
    </span>
    {gate.waits && (
      <span className={`${css.stays} ${css.bad}`}>
        <Said>{branch}</Said> asks it now and goes on asking: if both are approved, it is done twice
      </span>
    )}
  </li>
);
