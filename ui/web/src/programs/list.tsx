import { useEffect } from "react";
import { Link } from "wouter";
import type { Program } from "../data/programs";
import { useThreadCounts, usePrograms } from "../data/threads";
import { Empty, Failure, Skeleton } from "../parts/notice";
import { Said } from "../parts/said";
import { Bar } from "../shell/bar";
import { addressOf, type Status } from "../threads/filter";
import { many } from "../text/count";
import { programPath } from "./address";
import css from "./list.module.css";

const shown: Status[] = ["waiting", "running", "failed", "interrupted"];

/** ProgramsScreen lists the programs that are served, with how many of their threads need somebody. */
export function ProgramsScreen() {
  const programs = usePrograms();
  useEffect(() => {
    document.title = "Programs · Posthouse";
  }, []);
  return (
    <>
      <Bar title="Programs">{programs.data && <span className={css.total}>{programs.data.length}</span>}</Bar>
      <div className={css.scroll}>
        {programs.isPending && <Skeleton rows={8} height={56} />}
        {programs.error && !programs.data && <Failure error={programs.error} safe="Threads stay on record." />}
        {programs.data?.length === 0 && (
          <Empty title="No programs are served here" command="posthouse dev">
            A program is a graph, a flow or a coordinator that a Go binary serves. The one named here has a sample.
          </Empty>
        )}
        <ul className={css.list}>
          {programs.data?.map((p) => (
            <Row key={p.name} program={p} />
          ))}
        </ul>
      </div>
    </>
  );
}

function Row({ program }: { program: Program }) {
  const counts = useThreadCounts({ program: program.name });
  const questions = program.questions?.length ?? 0;
  return (
    <li className={css.row}>
      <Link href={programPath(program.name)} className={css.name}>
        <Said>{program.name}</Said>
      </Link>
      <span className={css.about}>
        <Said>{program.description}</Said>
      </span>
      <span className={css.kind}>
        {program.kind}
        {questions > 0 && ` · ${questions} question${questions > 1 ? "s" : ""}`}
      </span>
      <span className={css.counts}>
        {shown.map((s) => {
          const n = counts.data?.[s] ?? 0;
          return (
            n > 0 && (
              <Link key={s} href={addressOf({ program: program.name, status: s })} className={css[s]}>
                <b>{many(n)}</b> {s}
              </Link>
            )
          );
        })}
      </span>
    </li>
  );
}
