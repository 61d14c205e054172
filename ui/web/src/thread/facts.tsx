import { useState, type ReactNode } from "react";
import { Link } from "wouter";
import type { Schemas } from "../api/client";
import { useEnding, useHeader } from "../data/checkpoints";
import { useProgram } from "../data/programs";
import { useCalled, useCopied, useFirstRow } from "../data/thread";
import { Chip } from "../parts/chip";
import { Id, named } from "../parts/id";
import { Said } from "../parts/said";
import { At } from "../parts/time";
import { pausedOf } from "../threads/due";
import { addressOf } from "../threads/filter";
import { threadPath } from "./address";
import { isOver, overOf } from "./ending";
import { asksPeople, isFork } from "./items";
import { Standing } from "./standing";
import { VersionLinks } from "./versions";
import css from "./header.module.css";

type Thread = Schemas["Thread"];

/** So many labels are shown before the others fold. */
const most = 6;

export const countOf = (n: number, one: string, many = `${one}s`) => `${n} ${n === 1 ? one : many}`;

/** Facts says when a thread began and ended, who began it, who runs it, by which version, its labels and its relatives. */
export function Facts({ thread, branch, head }: { thread: Thread; branch: string; head: string }) {
  const at = useHeader(head || undefined);
  const end = overOf(thread, branch);
  const ending = useEnding(end?.head);
  const several = (thread.branches ?? []).length > 1;
  const ended = end && (ending.data ?? ending.isPending);
  const program = useProgram(thread.graph ?? "");
  const version = at.data?.fingerprint;
  const served = program.data?.version;
  const [all, setAll] = useState(false);
  const labels = Object.entries(thread.labels ?? {}).filter(([name]) => name !== "parent");
  const first = useFirstRow(thread.thread, thread.generation);
  const called = useCalled(thread.thread);
  const source = first.data?.source?.thread === thread.thread ? undefined : first.data?.source;
  const copied = useCopied(thread.thread, source && thread.generation);
  const note = copied.data;
  const unsure = first.isLoading || (!!source && copied.isLoading);
  const isCopy = source !== undefined && first.data !== null && (!!note || !isFork(first.data ?? { kind: "" }));
  const caller = thread.labels?.parent;
  return (
    <dl className={css.facts}>
      <div className={css.narrow}>
        <dt className="visually-hidden">status</dt>
        <dd>
          <Standing thread={thread} branch={branch} />
        </dd>
      </div>
      {isCopy && (
        <Fact name="copied">
          <At at={thread.createdAt} />
          {note?.by && (
            <>
              {" "}
              by <Said>{note.by}</Said>
            </>
          )}
        </Fact>
      )}
      <Fact name={isCopy ? "the original started" : "started"}>
        {unsure ? <Coming /> : <At at={(isCopy || thread.releases) && first.data ? first.data.at : thread.createdAt} />}
        {first.data?.by && (
          <>
            {" "}
            by <Said>{first.data.by}</Said>
          </>
        )}
      </Fact>
      {ended && (
        <Fact name={several ? of(end.branch, "ended") : "ended"}>
          {ending.data ? <At at={ending.data} /> : <Coming />}
        </Fact>
      )}
      {(!ended || !isOver(thread.status)) && (
        <Fact name="last entry">
          <At at={thread.updatedAt} />
        </Fact>
      )}
      {!thread.release && <Stops thread={thread} branch={branch} head={at} />}
      {thread.lease?.held && (
        <Fact name="runs on">
          <Said>{named(thread.lease.owner)}</Said>
        </Fact>
      )}
      {version && (
        <Fact name="version">
          <Id>{version}</Id> {served && (served === version ? "served now" : "another than is served now")}
        </Fact>
      )}
      {(thread.release || (thread.releases ?? 0) > 0) && (
        <Fact name="versions">
          <VersionLinks thread={thread} />
        </Fact>
      )}
      {thread.hold && (
        <Fact name="held">
          by <Said>{thread.hold.by}</Said> since <At at={thread.hold.since} />
        </Fact>
      )}
      {(thread.unknownEffects ?? 0) > 0 && (
        <Fact name="unknown">
          <Chip state="unknown" also={countOf(thread.unknownEffects ?? 0, "effect")} />
        </Fact>
      )}
      {source && !unsure && (
        <Fact name={isCopy ? "copy of" : "forked from"}>
          <Link href={threadPath(source.thread, { at: source.id })}>
            <Said>{named(source.thread)}</Said>
          </Link>
        </Fact>
      )}
      {caller && (
        <Fact name="called by">
          <Link href={threadPath(caller)}>
            <Said>{named(caller)}</Said>
          </Link>
        </Fact>
      )}
      {called.data && called.data.length > 0 && (
        <Fact name="calls">
          {called.data.slice(0, 3).map((t, i) => (
            <span key={t}>
              {i > 0 && ", "}
              <Link href={threadPath(t)}>
                <Said>{named(t)}</Said>
              </Link>
            </span>
          ))}
          {called.data.length > 3 && ` and ${called.data.length - 3} others`}
        </Fact>
      )}
      {labels.length > 0 && (
        <Fact name={labels.length === 1 ? "label" : "labels"}>
          <span className={css.labels}>
            {(all ? labels : labels.slice(0, most)).map(([name, value]) => (
              <Link key={name} href={addressOf({ label: `${name}=${value}` })} title="threads with this label">
                <Said>{`${name}=${value}`}</Said>
              </Link>
            ))}
            {!all && labels.length > most && (
              <button type="button" onClick={() => setAll(true)}>
                and {labels.length - most} more
              </button>
            )}
          </span>
        </Fact>
      )}
    </dl>
  );
}

type StopsProps = { thread: Thread; branch: string; head: ReturnType<typeof useHeader> };

/** Stops says why a branch does not go on: it was interrupted, or waits for something that no person answers. */
function Stops({ thread, branch, head }: StopsProps) {
  const status = thread.branches?.find((b) => b.branch === branch)?.status;
  if (status === "interrupted")
    return (
      <Fact name={(thread.branches ?? []).length > 1 ? of(branch, "stopped") : "stopped"}>
        <Resumes head={head} />
      </Fact>
    );
  const wait = thread.waiting?.find((w) => w.branch === branch);
  if (status !== "waiting" || !wait || asksPeople(wait)) return null;
  const paused = wait === thread.waiting?.find((w) => !asksPeople(w)) && wait.kind === "task" && pausedOf(thread.now);
  if (paused)
    return (
      <Fact name={(thread.branches ?? []).length > 1 ? of(branch, "is paused") : "paused"}>
        <Said>{paused.by}</Said>, until <At at={paused.at} />
      </Fact>
    );
  return (
    <Fact name={(thread.branches ?? []).length > 1 ? of(branch, "waits for") : "waits for"}>
      {wait.kind === "signal" ? (
        <>
          the signal <Said>{wait.signal}</Said>
        </>
      ) : (
        (waits[wait.kind] ?? "something that no person answers")
      )}
      {wait.expiresAt && (
        <>
          {wait.kind === "timer" ? " " : ", until "}
          <At at={wait.expiresAt} />
        </>
      )}
    </Fact>
  );
}

/** Resumes says where a branch goes on that was interrupted, once its head is read. */
function Resumes({ head }: Pick<StopsProps, "head">) {
  if (head.isPending) return <Coming />;
  if (!head.data) return "its head cannot be read now";
  const { next } = head.data;
  if (!next?.length) return "Resume goes on from its head";
  return (
    <>
      before <Said>{next.join(", ")}</Said>; Resume goes on there
    </>
  );
}

const waits: Record<string, string> = { timer: "its time,", task: "a worker", thread: "another thread's end" };

/** Coming holds the place of a fact that is being read. */
const Coming = () => <i aria-hidden className={css.coming} />;

/** of names the branch that a fact is of. */
const of = (branch: string, name: string) => (
  <>
    <Said>{branch}</Said> {name}
  </>
);

const Fact = ({ name, children }: { name: ReactNode; children: ReactNode }) => (
  <div>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
);
