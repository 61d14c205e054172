import { useState } from "react";
import { Link } from "wouter";
import type { Task, Worker } from "../data/workers";
import { Button } from "../parts/button";
import { Chip } from "../parts/chip";
import { named, short } from "../parts/id";
import { Empty } from "../parts/notice";
import { Part } from "../parts/page";
import { Said } from "../parts/said";
import { Table } from "../parts/table";
import { Ago } from "../parts/time";
import css from "./workers.module.css";

const first = 100;

/** Workers lists who is connected, with what each has claimed. */
export function Workers({ workers, tasks }: { workers: Worker[]; tasks: Task[] }) {
  const [all, setAll] = useState(false);
  if (workers.length === 0)
    return (
      <Empty title="No worker is connected" command="posthouse token create --role worker --name media-1">
        A worker is a program of yours that handles tasks, on this machine or another. It comes with a token of its own;
        the page on workers of the documentation shows one.
      </Empty>
    );
  const shown = all ? workers : workers.slice(0, first);
  return (
    <Part title="Workers" says="who is connected, what they handle, and what they have claimed">
      <Table
        label="workers"
        columns={[
          { name: "Worker" },
          { name: "Group" },
          { name: "Handles", grow: true },
          { name: "At once", end: true },
          { name: "Protocol", end: true },
          { name: "Server" },
          { name: "Heard", end: true },
          { name: "Lease", end: true },
        ]}
        rows={shown.map((w) => ({
          key: w.session,
          cells: [
            <span key="name" title={w.session}>
              <Said>{w.worker}</Said>
            </span>,
            w.group && <Said>{w.group}</Said>,
            <span key="tasks" title={w.tasks.length > 6 ? `${w.tasks.length} names` : undefined}>
              <Said>{w.tasks.join(", ")}</Said>
            </span>,
            <Slots key="slots" worker={w} />,
            w.protocol,
            <span key="server" title={w.engine}>
              {w.here ? "this one" : short(w.engine)}
              {w.token && (
                <>
                  , token <Said>{w.token}</Said>
                </>
              )}
            </span>,
            <Ago key="heard" at={w.heard} />,
            w.silent ? <Chip state="silent" /> : `${Math.round((Date.parse(w.until) - Date.parse(w.heard)) / 1000)} s`,
          ],
          below: w.claims?.length ? <Claims claims={w.claims} tasks={tasks} /> : undefined,
        }))}
      />
      {shown.length < workers.length && (
        <p className={css.more}>
          <Button onClick={() => setAll(true)}>Show all {workers.length}</Button>
        </p>
      )}
    </Part>
  );
}

/** Slots says how many of the tasks that a worker handles at once it has. */
function Slots({ worker }: { worker: Worker }) {
  if (!worker.claims) return <span title="another server knows how many it has">up to {worker.atOnce}</span>;
  return (
    <span className={css.slots}>
      {worker.atOnce <= 12 && (
        <span aria-hidden>
          {Array.from({ length: worker.atOnce }, (_, i) => (
            <i key={i} className={i < worker.claims.length ? css.taken : undefined} />
          ))}
        </span>
      )}
      {worker.claims.length} of {worker.atOnce}
    </span>
  );
}

function Claims({ claims, tasks }: { claims: string[]; tasks: Task[] }) {
  return (
    <ul className={css.claims}>
      {claims.map((id) => {
        const task = tasks.find((t) => t.id === id);
        return (
          <li key={id}>
            <Chip state="claimed" />
            {task ? (
              <>
                <Said>{task.call.task}</Said>
                <Link href={`/threads/${encodeURIComponent(task.thread)}`}>
                  <Said>{named(task.thread)}</Said>
                </Link>
                <span>attempt {task.call.attempt ?? 1}</span>
                {task.call.began && <Ago at={task.call.began} />}
              </>
            ) : (
              <code>{short(id)}</code>
            )}
          </li>
        );
      })}
    </ul>
  );
}
