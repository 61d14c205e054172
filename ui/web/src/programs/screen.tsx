import { useCallback, useEffect, useMemo } from "react";
import { Link, useLocation, useSearch } from "wouter";
import { useMe } from "../data/me";
import { useProgram, useStanding, type Program } from "../data/programs";
import { useThreadCounts } from "../data/threads";
import { ProgramGraph } from "../graph/graph";
import { Card } from "../parts/card";
import { Chip } from "../parts/chip";
import { Id } from "../parts/id";
import { Failure, Skeleton } from "../parts/notice";
import { Pill } from "../parts/pill";
import { Said } from "../parts/said";
import { Bar } from "../shell/bar";
import { Unread } from "../shell/missing";
import { marked } from "../text/hidden";
import { addressOf, statuses, type Status } from "../threads/filter";
import { many } from "../text/count";
import { programOf } from "./address";
import { placesOf } from "./places";
import { Start } from "./start";
import css from "./screen.module.css";

const none: never[] = [];

/** ProgramScreen is one program: where its threads are, how a run begins, and its versions. */
export function ProgramScreen() {
  useLocation();
  const name = programOf(location.pathname, useSearch());
  const program = useProgram(name);
  useEffect(() => {
    document.title = `${marked(name)} · Posthouse`;
  }, [name]);
  return (
    <>
      <Bar up={{ name: "Programs", href: "/programs" }} title={<Said>{name}</Said>}>
        {program.data && <span className={css.kind}>{program.data.kind}</span>}
      </Bar>
      <div className={css.scroll}>
        {program.isPending && <Skeleton rows={10} height={40} />}
        {program.error && !program.data && (
          <Unread
            error={program.error}
            safe="Threads of it stay on record."
            what="program"
            name={name}
            ways={[
              { name: "All programs", href: "/programs" },
              { name: "Its threads", href: addressOf({ program: name }) },
            ]}
          >
            No process here serves it. Threads that it began stay on record.
          </Unread>
        )}
        {program.data && <Shown key={name} program={program.data} />}
      </div>
    </>
  );
}

function Shown({ program }: { program: Program }) {
  const me = useMe();
  return (
    <div className={css.page}>
      <header className={css.header}>
        {program.description && (
          <p className={css.about}>
            <Said>{program.description}</Said>
          </p>
        )}
        <Counts name={program.name} />
      </header>
      <div className={css.main}>
        <Places program={program} />
        <Questions program={program} />
      </div>
      <div className={css.side}>
        <Start program={program} may={me.data?.role === "operator"} />
        <Versions program={program} />
      </div>
    </div>
  );
}

function Counts({ name }: { name: string }) {
  const counts = useThreadCounts({ program: name });
  return (
    <nav className={css.counts} aria-label="threads by status">
      <Pill href={addressOf({ program: name })} on={false}>
        All threads
      </Pill>
      {statuses.map((s) => {
        const n = counts.data?.[s] ?? 0;
        return (
          n > 0 && (
            <Pill key={s} href={addressOf({ program: name, status: s })} on={false} count={many(n)}>
              {s.charAt(0).toUpperCase() + s.slice(1)}
            </Pill>
          )
        );
      })}
    </nav>
  );
}

/** Places says where threads are that have not ended, by node: in the graph, where there is one, and as a list. */
function Places({ program }: { program: Program }) {
  const [, go] = useLocation();
  const standing = useStanding(program.name);
  const places = useMemo(() => placesOf(standing.data?.nodes ?? none), [standing.data]);
  const { counts, lit } = useMemo(
    () => ({
      counts: new Map(places.map((p) => [p.node, p])),
      lit: new Map(places.flatMap((p) => (p.colour ? [[p.node, p.colour] as const] : []))),
    }),
    [places],
  );
  const open = useCallback((node: string) => go(addressOf({ program: program.name, node })), [go, program.name]);
  const to = (node: string, status?: Status) =>
    addressOf({ program: program.name, node, ...(status ? { status } : {}) });
  return (
    <Card title="Where its threads are" label="where its threads are" also="branches that have not ended">
      {program.graph !== undefined && (
        <div className={css.graph}>
          <ProgramGraph program={program.name} counts={counts} lit={lit} onNode={open} />
        </div>
      )}
      {standing.isPending && <Skeleton rows={3} height={36} />}
      {standing.error && !standing.data && <Failure error={standing.error} />}
      {standing.data && places.length === 0 && <p className={css.none}>All of its threads have ended.</p>}
      <ul className={css.places}>
        {places.map((p) => (
          <li key={p.node}>
            <Link href={to(p.node)} className={css.node}>
              <Said>{p.node}</Said>
            </Link>
            <span className={css.states}>
              {p.by.map(({ status, count }) => (
                <Link
                  key={status}
                  href={to(p.node, status)}
                  aria-label={`${status}, ${many(count)} at ${marked(p.node)}`}
                >
                  <Chip state={status} also={many(count)} />
                </Link>
              ))}
            </span>
            <span className={css.count}>
              {many(p.threads)} thread{p.threads === 1 ? "" : "s"}
            </span>
          </li>
        ))}
      </ul>
      {standing.data?.more && <p className={css.none}>The newest threads are counted; there are others.</p>}
    </Card>
  );
}

/** isUnknown tells questions about the outcome of an effect, which no program asks by itself. */
const isUnknown = (name: string) => /(^|>)outcome(-\d+)?$/.test(name);

function Questions({ program }: { program: Program }) {
  const questions = program.questions ?? [];
  if (questions.length === 0) return null;
  return (
    <Card title="What it asks" label="questions">
      <ul className={css.places}>
        {questions.map((q) => (
          <li key={q.name} className={css.question}>
            <span className={css.node}>
              <Said>{q.name}</Said>
            </span>
            <span className={css.text}>
              {isUnknown(q.name) ? (
                "What became of it, where that is not known"
              ) : q.declared ? (
                <Said>{q.text}</Said>
              ) : (
                <>
                  last asked as <Said>{q.text}</Said>
                </>
              )}
            </span>
            {q.asked && (
              <Link href={`/?${new URLSearchParams({ show: "open", question: q.name })}`} className={css.quiet}>
                asked before
              </Link>
            )}
          </li>
        ))}
      </ul>
    </Card>
  );
}

/** Versions says which version new threads begin with, and which others still have threads. */
function Versions({ program }: { program: Program }) {
  const standing = useStanding(program.name);
  if (!program.version) return null;
  const open = standing.data?.versions ?? [];
  const now = open.find((v) => v.version === program.version);
  const old = open.filter((v) => v.version !== program.version);
  const href = (version: string) => addressOf({ program: program.name, version });
  return (
    <Card title="Versions" label="versions">
      <ul className={css.places}>
        <li>
          <span className={css.version}>
            <Id>{program.version}</Id> <span className={css.quiet}>served now</span>
          </span>
          {now ? (
            <Link href={href(now.version)} className={css.count}>
              {now.threads} open
            </Link>
          ) : (
            <span className={css.count}>none open</span>
          )}
        </li>
        {old.map((v) => (
          <li key={v.version}>
            <span className={css.version}>
              <Id>{v.version}</Id> <span className={css.old}>older or other</span>
            </span>
            <Link href={href(v.version)} className={css.count}>
              {v.threads} open
            </Link>
          </li>
        ))}
      </ul>
      {standing.data && (
        <p className={css.none}>
          {old.length > 0
            ? "Threads of another version go on once the program has a migration for it, or by that version."
            : "No open thread is of another version."}
        </p>
      )}
    </Card>
  );
}
