// Beside a question, on wide screens: what its thread did last.

import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { api, get, type Gate, type Schemas } from "../api/client";
import { named } from "../parts/id";
import { Failure, Skeleton } from "../parts/notice";
import { Said } from "../parts/said";
import { Ago } from "../parts/time";
import { inThread, threadPath } from "../thread/address";
import css from "./beside.module.css";

const rows = 14;

/** Beside shows the newest rows of the branch that a question is asked on. Each leads to its place in the thread. */
export function Beside({ gate }: { gate: Gate }) {
  const read = useQuery({
    queryKey: ["live", "beside", gate.thread, gate.branch],
    queryFn: ({ signal }) => {
      const query = { branch: gate.branch, order: "desc" as const, details: true, limit: rows };
      return get(api.GET("/api/threads/{id}/outline", { signal, params: inThread(gate.thread, query) }));
    },
  });
  return (
    <aside className={css.beside} aria-label="the thread">
      <header className={css.header}>
        <Link href={threadPath(gate.thread, { branch: gate.branch })}>
          <Said>{named(gate.thread)}</Said>
        </Link>
        <span>
          <Said>{gate.branch}</Said>
        </span>
      </header>
      {read.error && <Failure error={read.error} />}
      {read.isPending && <Skeleton rows={8} height={44} />}
      <ol className={css.rows}>
        {read.data?.items.map((r) => (
          <li key={r.id} className={r.id === gate.checkpoint ? css.here : undefined}>
            <Link href={threadPath(gate.thread, { at: r.id, branch: r.branch })}>
              <span className={css.seq}>#{r.seq}</span>
              <span className={css.what}>
                <b>
                  <Said>{r.node || r.kind}</Said>
                </b>
                <span>{said(r)}</span>
              </span>
              <span className={css.at}>
                <Ago at={r.at} />
              </span>
            </Link>
          </li>
        ))}
      </ol>
      {read.data?.next && (
        <p className={css.more}>
          <Link href={threadPath(gate.thread, { branch: gate.branch })}>The whole thread</Link>
        </p>
      )}
    </aside>
  );
}

/** said is one line about a row: its error, its note, what it asks, or what it changed. */
function said(r: Schemas["Row"]) {
  if (r.error) return <Said>{r.error}</Said>;
  if (r.line) return <Said>{r.line}</Said>;
  if ((r.gates ?? []).length > 0) return "asked a question";
  if ((r.changed ?? []).length > 0) return <Said>{`set ${(r.changed ?? []).join(", ")}`}</Said>;
  return null;
}
