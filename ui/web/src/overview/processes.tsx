import { Link } from "wouter";
import { useProcesses } from "../data/overview";
import { Chip } from "../parts/chip";
import { named, short } from "../parts/id";
import { Failure } from "../parts/notice";
import { Part, Quiet } from "../parts/page";
import { Said } from "../parts/said";
import { Table } from "../parts/table";
import css from "./overview.module.css";

/** Processes lists who runs which threads. Only an operator may. */
export function Processes({ may }: { may: boolean }) {
  const list = useProcesses(may);
  if (!may) return null;
  if (list.error) return <Failure error={list.error} />;
  if (!list.data) return null;
  const { items, free, more } = list.data;
  return (
    <Part
      title="Processes"
      says={`which runs which threads${free ? `; ${free} can go on and are run by none` : ""}${more ? "; there are more" : ""}`}
    >
      {items.length === 0 ? (
        <Quiet>No process runs a thread now. Threads that wait are held by none.</Quiet>
      ) : (
        <Table
          label="processes"
          columns={[{ name: "Process" }, { name: "Runs", grow: true }, { name: "Leases", end: true }]}
          rows={items.map((p) => ({
            key: p.process,
            cells: [
              <span key="process" title={p.process}>
                {short(p.process)} {p.silent && <Chip state="silent" />}
              </span>,
              <span key="some" className={css.some}>
                {(p.some ?? []).slice(0, 3).map((h) => (
                  <Link key={h.thread} href={`/threads/${encodeURIComponent(h.thread)}`}>
                    <Said>{named(h.thread)}</Said>
                  </Link>
                ))}
              </span>,
              p.threads,
            ],
          }))}
        />
      )}
    </Part>
  );
}
