import { useSearch } from "wouter";
import { useMe } from "../data/me";
import { useLetters, useQueues, useTasks, useWorkers } from "../data/workers";
import { DelayedActs, useDelayed } from "../parts/delayed";
import { Failure, Skeleton } from "../parts/notice";
import { Scroll } from "../parts/page";
import { Tabs } from "../parts/tabs";
import { Problem } from "../api/client";
import { Bar } from "../shell/bar";
import { Letters } from "./letters";
import { Queues } from "./queues";
import { Tasks } from "./tasks";
import { Workers } from "./workers";

type Place = "workers" | "tasks" | "failed" | "letters";

const placeOf = (show: string | null): Place =>
  show === "tasks" || show === "failed" || show === "letters" ? show : "workers";

/** WorkersScreen shows who works, what waits for them, and what went wrong. */
export function WorkersScreen() {
  const query = new URLSearchParams(useSearch());
  const place = placeOf(query.get("show"));
  const task = query.get("task") ?? undefined;
  const operator = useMe().data?.role === "operator";
  const delayed = useDelayed();
  const workers = useWorkers();
  const queues = useQueues();
  const open = useTasks(false, place === "tasks" ? task : undefined);
  const failed = useTasks(true);
  const letters = useLetters(operator);
  const depth = (queues.data ?? []).reduce((n, q) => n + q.ready + q.delayed + q.paused + q.claimed, 0);
  const many = (n: number | undefined, more = false) => (n ? `${n}${more ? "+" : ""}` : undefined);
  const failures = failed.data?.pages.flatMap((p) => p.items) ?? [];
  const tabs = [
    { name: "Workers", href: "/workers", count: many(workers.data?.length), on: place === "workers" },
    { name: "Tasks", href: "/workers?show=tasks", count: many(depth), on: place === "tasks" },
    {
      name: "Failed",
      href: "/workers?show=failed",
      count: many(failures.length, failed.hasNextPage),
      on: place === "failed",
    },
    ...(operator
      ? [
          {
            name: "Dead letters",
            href: "/workers?show=letters",
            count: many(letters.data?.items.length),
            on: place === "letters",
          },
        ]
      : []),
  ];
  const error = workers.error ?? (place === "tasks" ? open.error : place === "failed" ? failed.error : undefined);
  const none = error instanceof Problem && error.code === "unsupported";
  const rows = (
    <>
      {place === "workers" && (
        <>
          {queues.data && <Queues queues={queues.data} />}
          {workers.data && <Workers workers={workers.data} tasks={open.data?.pages.flatMap((p) => p.items) ?? []} />}
        </>
      )}
      {place === "tasks" && (
        <Tasks
          list={open}
          delayed={delayed}
          may={operator}
          task={task}
          state={query.get("state")}
          queues={(queues.data ?? []).filter((q) => !task || q.task === task)}
        />
      )}
      {place === "failed" && <Tasks list={failed} delayed={delayed} may={operator} failed />}
      {place === "letters" && <Letters list={letters} delayed={delayed} may={operator} />}
    </>
  );
  return (
    <>
      <Bar title="Workers and tasks">
        <Tabs label="workers and tasks" tabs={tabs} />
      </Bar>
      <Scroll>
        {error !== undefined && error !== null && !none && <Failure error={error} safe="What is on record is safe." />}
        {none && <Failure error={error} safe="No worker can come to this server." />}
        {workers.isPending && <Skeleton rows={6} height={36} />}
        {rows}
      </Scroll>
      <DelayedActs delayed={delayed} />
    </>
  );
}
