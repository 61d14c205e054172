import { Ellipsis, GitFork } from "lucide-react";
import { useState } from "react";
import { Link, useLocation } from "wouter";
import type { Schemas } from "../api/client";
import { useCalled, useFirstRow } from "../data/thread";
import { useMe } from "../data/me";
import { Button } from "../parts/button";
import { Chip } from "../parts/chip";
import { named } from "../parts/id";
import { Said } from "../parts/said";
import { At } from "../parts/time";
import { Bar } from "../shell/bar";
import { actions, allowed, type ActionKey, type Done } from "./actions";
import { threadPath } from "./address";
import { Confirm } from "./confirm";
import css from "./header.module.css";

type Thread = Schemas["Thread"];
type Props = {
  thread: Thread;
  branch: string;
  at: string;
  head: string;
  effects: number;
  fork: () => void;
  done: (d: Done) => void;
};

/** Header names a thread, and has what its status allows: at most three buttons, the others below ⋯. */
export function Header({ thread, branch, at, head, effects, fork, done }: Props) {
  const me = useMe();
  const [asked, ask] = useState<ActionKey>();
  const [, go] = useLocation();
  const operator = me.data?.role === "operator";
  const decides = operator || me.data?.role === "approver";
  const may = allowed(thread, branch).filter((a) => operator || (decides && a === "answer"));
  const shown = may.filter((a) => !["hold", "unhold", "copy", "export", "delete"].includes(a)).slice(0, 3);
  const rest = may.filter((a) => !shown.includes(a));
  const question = thread.waiting?.find((w) => w.branch === branch);
  const run = (a: ActionKey) => {
    if (a === "fork") fork();
    else if (a === "answer" && question) go(`/gates/${encodeURIComponent(question.id)}`);
    else if (a === "export") location.assign(exportOf(thread.thread));
    else ask(a);
  };
  return (
    <>
      <Bar
        title={<Said>{thread.thread}</Said>}
        end={
          shown.length > 0 && (
            <span className={css.actions}>
              {shown.map((a) => (
                <Button
                  key={a}
                  title={actions[a].does}
                  tone={actions[a].danger ? "danger" : "plain"}
                  icon={a === "fork" ? <GitFork size={16} strokeWidth={1.5} aria-hidden /> : undefined}
                  onClick={() => run(a)}
                >
                  {actions[a].name}
                </Button>
              ))}
              <Button
                aria-label="more actions"
                popoverTarget="thread-actions"
                className={css.dots}
                icon={<Ellipsis size={16} strokeWidth={1.5} aria-hidden />}
              />
            </span>
          )
        }
      >
        {thread.status && (
          <span className={css.chip}>
            <Chip state={thread.status} />
          </span>
        )}
        <span className={css.crumb}>
          {thread.graph && <Said>{thread.graph}</Said>}
          <span className={css.counts}>
            {countOf((thread.branches ?? []).length, "branch", "branches")}, {countOf(thread.checkpoints, "checkpoint")}
            {effects > 0 && `, ${countOf(effects, "effect")}`}
          </span>
        </span>
      </Bar>
      <div id="thread-actions" popover="auto" className={css.menu}>
        {[...shown, ...rest].map((a) => (
          <button
            key={a}
            type="button"
            className={`${actions[a].danger ? css.danger : ""} ${shown.includes(a) ? css.again : ""}`}
            popoverTarget="thread-actions"
            popoverTargetAction="hide"
            onClick={() => run(a)}
          >
            <b>{actions[a].name}</b>
            <span>{actions[a].does}</span>
          </button>
        ))}
      </div>
      <Facts thread={thread} />
      <Confirm action={asked} target={{ thread, branch, at, head }} close={() => ask(undefined)} done={done} />
    </>
  );
}

const countOf = (n: number, one: string, many = `${one}s`) => `${n} ${n === 1 ? one : many}`;

const exportOf = (thread: string) => {
  const { pathname, search } = new URL(threadPath(thread), location.origin);
  return `/api${pathname}/export${search}`;
};

const over = new Set(["done", "failed", "cancelled"]);

/** Facts says when a thread began and ended, who began it, who runs it, and its relatives. */
function Facts({ thread }: { thread: Thread }) {
  const first = useFirstRow(thread.thread, thread.generation);
  const called = useCalled(thread.thread);
  const source = first.data?.source?.thread === thread.thread ? undefined : first.data?.source;
  const caller = thread.labels?.parent;
  return (
    <dl className={css.facts}>
      {thread.status && (
        <div className={css.narrow}>
          <dt className="visually-hidden">status</dt>
          <dd>
            <Chip state={thread.status} />
          </dd>
        </div>
      )}
      <Fact name="started">
        <At at={thread.createdAt} />
        {first.data?.by && (
          <>
            {" "}
            by <Said>{first.data.by}</Said>
          </>
        )}
      </Fact>
      <Fact name={over.has(thread.status) ? "ended" : "last entry"}>
        <At at={thread.updatedAt} />
      </Fact>
      {thread.lease?.held && (
        <Fact name="runs on">
          <Said>{named(thread.lease.owner)}</Said>
        </Fact>
      )}
      {thread.generation > 1 && (
        <Fact name="version">
          {thread.generation}, after {thread.releases} released
        </Fact>
      )}
      {thread.hold && <Fact name="held">by {<Said>{thread.hold.by}</Said>}</Fact>}
      {(thread.unknownEffects ?? 0) > 0 && (
        <Fact name="unknown">
          <Chip state="unknown" also={countOf(thread.unknownEffects ?? 0, "effect")} />
        </Fact>
      )}
      {source && (
        <Fact name="forked from">
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
    </dl>
  );
}

const Fact = ({ name, children }: { name: string; children: React.ReactNode }) => (
  <div>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
);
