import { Link } from "wouter";
import type { Queue } from "../data/workers";
import { Part, Quiet } from "../parts/page";
import { Said } from "../parts/said";
import { Table } from "../parts/table";
import { Ago } from "../parts/time";
import { scaleOf } from "./scale";
import css from "./workers.module.css";

const sum = (q: Queue) => q.claimed + q.ready + q.delayed + q.paused;

/** Queues shows how deep each queue is, and since when its first task waits. */
export function Queues({ queues }: { queues: Queue[] }) {
  const most = scaleOf(Math.max(...queues.map(sum)));
  const link = (q: Queue, state: string, n: number) =>
    n ? (
      <Link href={`/workers?${new URLSearchParams({ show: "tasks", task: q.task, state })}`}>{n}</Link>
    ) : (
      <span className={css.zero}>0</span>
    );
  return (
    <Part title="Queues" says="open tasks by name: what workers have, what waits for them, and since when">
      {queues.length === 0 ? (
        <Quiet>No task is open. A program opens one where it calls step.Remote.</Quiet>
      ) : (
        <Table
          label="queues"
          columns={[
            { name: "Task" },
            { name: "Depth", grow: true, head: <Scale most={most} /> },
            { name: "Claimed", end: true },
            { name: "Ready", end: true },
            { name: "Delayed", end: true },
            { name: "Paused", end: true },
            { name: "Oldest ready", end: true },
            { name: "Workers", end: true },
          ]}
          rows={queues.map((q) => ({
            key: `${q.task} ${q.group ?? ""}`,
            cells: [
              <>
                <Said>{q.task}</Said>
                {q.group && (
                  <span className={css.group}>
                    <Said>{q.group}</Said>
                  </span>
                )}
              </>,
              <Depth key="depth" queue={q} most={most} />,
              link(q, "claimed", q.claimed),
              link(q, "ready", q.ready),
              link(q, "delayed", q.delayed),
              link(q, "paused", q.paused),
              q.readySince ? <Ago at={q.readySince} /> : <span className={css.zero}>none is</span>,
              q.workers > 0 ? q.workers : <span className={css.none}>no worker takes it</span>,
            ],
          }))}
        />
      )}
    </Part>
  );
}

/** Scale is what the bars below it are drawn on: all queues on one. */
const Scale = ({ most }: { most: number }) => (
  <span className={css.scale}>
    Depth
    <span aria-label={`on a scale to ${most}`}>
      <i>0</i>
      <i>{(most / 2).toLocaleString("en")}</i>
      <i>{most.toLocaleString("en")}</i>
    </span>
  </span>
);

/** Depth draws a queue as one bar: what workers have, what is ready, what rests. Numbers stand beside it. */
const Depth = ({ queue, most }: { queue: Queue; most: number }) => {
  const share = (n: number) => `${(n / most) * 100}%`;
  return (
    <span className={css.deep}>
      <b>{sum(queue).toLocaleString("en")}</b>
      <span className={css.depth} aria-hidden>
        <i className={css.claimed} style={{ width: share(queue.claimed) }} />
        <i className={css.ready} style={{ width: share(queue.ready) }} />
        <i className={css.rests} style={{ width: share(queue.delayed + queue.paused) }} />
      </span>
    </span>
  );
};
