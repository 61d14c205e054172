import { Link } from "wouter";
import { Skeleton } from "../parts/notice";
import { Said } from "../parts/said";
import { At } from "../parts/time";
import { Value } from "../parts/value";
import { onRecord } from "../text/json";
import { Group, Lists, StepLine } from "./lists";
import { useResumes, type Act } from "./plan";
import { firstLine, heading, standing } from "./standing";
import lists from "./lists.module.css";
import css from "./resumes.module.css";

/** Resumes says what going on from a head would run, and act again under which decision, before anything runs. */
export function Resumes({ at }: { at: string }) {
  const plan = useResumes(at);
  if (!plan.data) return plan.error ? null : <Skeleton rows={4} height={32} />; // the request itself is refused with the same error
  const p = plan.data;
  return (
    <div className={css.plan} role="group" aria-label="what the resume does">
      <p className={css.next}>
        Runs{" "}
        <b>
          <Said>{p.next.join(", ")}</Said>
        </b>
        {p.error && (
          <>
            , which failed: <Said>{firstLine(p.error)}</Said>
          </>
        )}
      </p>
      {p.acts.map((a) => (
        <Acting key={`${a.gate}/${a.name ?? ""}/${a.occurrence ?? 0}`} act={a} />
      ))}
      {p.tried.length > 0 && (
        <Group title="Tried again" help="they failed before, and have no result" empty="">
          {p.tried.map((s) => (
            <li key={`${s.task}/${s.name}`} className={lists.line}>
              <span className={lists.seq}>#{s.seq}</span>
              <span className={lists.what}>
                <Said>{s.name}</Said>
                {s.error && (
                  <>
                    : <Said>{firstLine(s.error)}</Said>
                  </>
                )}
              </span>
              <span className={lists.class}>attempt {s.attempts + 1}</span>
            </li>
          ))}
        </Group>
      )}
      {p.asks.length > 0 && (
        <Group title="Open questions and waits" help="they stay open" empty="">
          {p.asks.map((g) => (
            <li key={g.gate} className={lists.line}>
              <span className={lists.seq}>#{g.seq}</span>
              <Link href={`/gates/${encodeURIComponent(g.gate)}`}>
                <Said>{g.name}</Said>
              </Link>
            </li>
          ))}
        </Group>
      )}
      {p.kept.length > 0 && (
        <Group title="Kept" help="results on record count, and are not computed again" empty="">
          {p.kept.map((s) => (
            <StepLine key={`${s.seq}/${s.name}/${s.occurrence}`} step={s} />
          ))}
        </Group>
      )}
      {p.fork && <Lists plan={p.fork} branch="the branch that it was forked from" />}
      <p className={css.rest}>
        {p.acts.length === 0 && !p.fork && "No decision on this branch licenses an effect that is not done. "}
        {p.more ? `And ${p.more.toLocaleString("en")} more. ` : ""}
        What the program does after that is not on record.
      </p>
    </div>
  );
}

function Acting({ act }: { act: Act }) {
  const { acts, words } = standing(act);
  const content = onRecord(act.content);
  const d = act.decision;
  return (
    <section className={acts ? `${css.act} ${css.acts}` : css.act} aria-label="acts">
      <h3>
        <Said>{heading(act)}</Said>
      </h3>
      <p>
        under{" "}
        <Link href={`/gates/${encodeURIComponent(act.gate)}`}>
          the approval of <Said>{d?.by ?? ""}</Said>
        </Link>
        {d?.at && (
          <>
            , <At at={d.at} />
          </>
        )}
        . <b>{words[0]?.toUpperCase() + words.slice(1)}.</b>
      </p>
      <p className={css.question}>
        <Said>{firstLine(act.question)}</Said>
      </p>
      {content && (
        <div className={css.content}>
          <Value node={content} />
        </div>
      )}
      {act.error && (
        <p>
          The last attempt did not act: <Said>{firstLine(act.error)}</Said>
        </p>
      )}
    </section>
  );
}
