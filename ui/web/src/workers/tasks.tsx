import type { UseInfiniteQueryResult, InfiniteData } from "@tanstack/react-query";
import { Link, useLocation } from "wouter";
import { api, get, type Schemas } from "../api/client";
import { more, queries } from "../data/query";
import type { Queue, Task } from "../data/workers";
import { Button } from "../parts/button";
import { Chip } from "../parts/chip";
import { named } from "../parts/id";
import type { Delayed } from "../parts/delayed";
import { Empty, Skeleton } from "../parts/notice";
import { Said } from "../parts/said";
import { Table } from "../parts/table";
import { Ago, exact, length, useNow } from "../parts/time";
import { Inline } from "../parts/value";
import { onRecord } from "../text/json";
import css from "./workers.module.css";

type Props = {
  list: UseInfiniteQueryResult<InfiniteData<Schemas["TaskList"]>>;
  delayed: Delayed;
  may: boolean;
  failed?: boolean;
  task?: string;
  state?: string | null;
  /** queues have the counts of all open tasks, where the list has read a page. */
  queues?: Queue[];
};

const states = ["claimed", "ready", "delayed", "paused"] as const;

/** Tasks lists open tasks, or those that failed for good. */
export function Tasks({ list, delayed, may, failed, task, state, queues = [] }: Props) {
  const [, go] = useLocation();
  const read = list.data?.pages.flatMap((p) => p.items) ?? [];
  const shown = failed || !state ? read : read.filter((t) => t.state === state);
  const address = (change: Record<string, string | undefined>) => {
    const all = { show: "tasks", task, state: state ?? undefined, ...change };
    const kept = Object.entries(all).filter((e): e is [string, string] => !!e[1]);
    return `/workers?${new URLSearchParams(kept)}`;
  };
  if (list.isPending) return <Skeleton rows={8} height={36} />;
  const filters = !failed && (read.length > 0 || task || state) && (
    <nav className={css.filters} aria-label="states">
      <Link href={address({ state: undefined })} className={state ? css.filter : `${css.filter} ${css.on}`}>
        All <Count of={states.map((s) => countOf(queues, s))} />
      </Link>
      {states.map((s) => (
        <Link
          key={s}
          href={address({ state: s })}
          aria-current={s === state ? "true" : undefined}
          className={s === state ? `${css.filter} ${css.on}` : css.filter}
        >
          {s} <Count of={[countOf(queues, s)]} />
        </Link>
      ))}
      {task && (
        <Button tone="quiet" onClick={() => go(address({ task: undefined }))} aria-label="tasks of all names">
          <Said>{task}</Said> ✕
        </Button>
      )}
    </nav>
  );
  return (
    <>
      {filters}
      {shown.length === 0 ? (
        failed ? (
          <Empty title="No task has failed">
            A task that fails at all its attempts stays here, until somebody retries it or gives it up.
          </Empty>
        ) : (
          <Empty title={task || state ? "No such task is open" : "No task is open"}>
            A program hands a step to a worker with step.Remote; it is a task until its result is on record.
          </Empty>
        )
      ) : (
        <Table
          label={failed ? "failed tasks" : "open tasks"}
          columns={[
            { name: "Task" },
            { name: "State" },
            { name: "Thread" },
            ...(failed ? [] : [{ name: "Waits for" }]),
            { name: failed ? "Why" : "Input", grow: true },
            { name: "Worker" },
            { name: "Attempt", end: true },
            { name: failed ? "Failed" : "Opened", end: true },
            { name: "", end: true },
          ]}
          rows={shown.map((t) => ({
            key: t.id,
            cells: [
              <Said key="task">{t.call.task}</Said>,
              <Chip key="state" state={t.state} />,
              <Link key="thread" href={`/threads/${encodeURIComponent(t.thread)}`}>
                <Said>{named(t.thread)}</Said>
              </Link>,
              ...(failed
                ? [<Why key="why" task={t} />]
                : [<Waits key="waits" task={t} />, <Input key="input" task={t} />]),
              t.worker && t.state !== "ready" ? <Said>{t.worker}</Said> : undefined,
              t.call.attempt ?? 1,
              <Ago key="at" at={t.decision?.at ?? t.createdAt} />,
              may && <Acts task={t} delayed={delayed} />,
            ],
          }))}
        />
      )}
      {list.hasNextPage && (
        <p className={css.more}>
          <Button disabled={list.isFetchingNextPage} onClick={() => more(list)}>
            Show more
          </Button>
        </p>
      )}
    </>
  );
}

const countOf = (queues: Queue[], state: (typeof states)[number]) => queues.reduce((n, q) => n + q[state], 0);

const Count = ({ of }: { of: number[] }) => (
  <span className={css.zero}>{of.reduce((a, b) => a + b, 0).toLocaleString("en")}</span>
);

/** Waits says what an open task waits for, until when, and why it came to that. */
function Waits({ task }: { task: Task }) {
  const now = useNow();
  const { paused, notBefore, failure } = task.call;
  const over = !notBefore || Date.parse(notBefore) <= now;
  const then = notBefore && !over ? length(Date.parse(notBefore) - now) : "";
  const says =
    task.state === "paused"
      ? { why: paused, so: then ? `goes on by itself in ${then}` : "until somebody has it go on" }
      : task.state === "delayed"
        ? { why: failure, so: then ? `its next attempt, in ${then}` : "its next attempt" }
        : task.state === "ready" && task.handlers === 0
          ? { why: failure, so: "a worker that takes it: none is there" }
          : { why: failure, so: "" };
  if (!says.why && !says.so) return null;
  return (
    <span title={notBefore && !over ? exact(notBefore) : undefined}>
      {says.why && (
        <strong>
          <Said>{says.why}</Said>
        </strong>
      )}
      {says.why && says.so && ": "}
      {says.so}
    </span>
  );
}

const Why = ({ task }: { task: Task }) => (
  <span className={css.why} title={task.decision?.reason}>
    <Said>{task.error?.detail ?? task.decision?.reason ?? task.call.failure ?? "It does not say why."}</Said>
  </span>
);

function Input({ task }: { task: Task }) {
  const node = onRecord(task.input);
  return node ? <Inline node={node} max={160} /> : null;
}

const again = () => queries.invalidateQueries({ queryKey: ["live"] });

/** Acts are what an operator may have a task do. Each is sent after a while. */
function Acts({ task, delayed }: { task: Task; delayed: Delayed }) {
  const path = { path: { id: task.id } };
  const of = `${task.call.task} of ${named(task.thread)}`;
  const act = (name: string, what: string, title: string, send: () => Promise<unknown>, danger = false) => (
    <Button
      tone={danger ? "danger" : "plain"}
      className={css.small}
      title={title}
      disabled={delayed.busy(task.id)}
      onClick={() => delayed.begin({ key: task.id, what, of, send: () => send().then(again) })}
      aria-label={`${what}: ${of}`}
    >
      {name}
    </Button>
  );
  if (task.state === "failed")
    return (
      <span className={css.acts}>
        {act("Retry", "Retry", "with what it saved and all its attempts", () =>
          get(api.POST("/api/tasks/{id}/retry", { params: path })),
        )}
        {act(
          "Give up",
          "Give up",
          "its slot is cleared, and its branch cancelled",
          () => get(api.DELETE("/api/tasks/{id}", { params: path })),
          true,
        )}
      </span>
    );
  if (task.state === "paused" || task.state === "delayed")
    return act("Go on", "Go on with", "now, before its time", () =>
      get(api.POST("/api/tasks/{id}/resume", { params: path })),
    );
  return null;
}
