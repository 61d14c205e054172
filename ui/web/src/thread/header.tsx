import { Ellipsis, GitFork } from "lucide-react";
import { useState } from "react";
import { useLocation } from "wouter";
import type { Schemas } from "../api/client";
import { useMe } from "../data/me";
import { Button } from "../parts/button";
import { Chip } from "../parts/chip";
import { later } from "../parts/later";
import { Said } from "../parts/said";
import { Unserved } from "../programs/unserved";
import { Bar } from "../shell/bar";
import { useCommands } from "../shell/commands";
import { actions, allowed, signalsOf, type ActionKey, type Done } from "./actions";
import { threadPath } from "./address";
import { asksPeople } from "./items";
import { Confirm } from "./confirm";
import { countOf, Facts } from "./facts";
import { Standing } from "./standing";
import { Usage } from "./usage";
import css from "./header.module.css";

const SendSignal = later(async () => (await import("../wait/signal")).SendSignal);

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
  const may = allowed(thread, branch).filter((a) => operator || (decides && (a === "answer" || a === "signal")));
  const shown = may.filter((a) => !["hold", "unhold", "copy", "export", "delete"].includes(a)).slice(0, 3);
  const rest = may.filter((a) => !shown.includes(a));
  const question = thread.waiting?.find((w) => w.branch === branch && asksPeople(w));
  const run = (a: ActionKey) => {
    if (a === "fork") fork();
    else if (a === "answer" && question) go(`/gates/${encodeURIComponent(question.id)}`);
    else if (a === "export") location.assign(exportOf(thread.thread));
    else ask(a);
  };
  useCommands(may.map((a) => ({ name: `This thread: ${actions[a].name.toLowerCase()}`, run: () => run(a) })));
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
        <span className={css.chip}>
          <Standing thread={thread} branch={branch} />
        </span>
        {thread.release && (
          <span className={css.chip}>
            <Chip state="archived" also={`version ${thread.release.version}`} />
          </span>
        )}
        <span className={css.crumb}>
          {thread.graph && <Said>{thread.graph}</Said>}
          <span className={css.counts}>
            {countOf((thread.branches ?? []).length, "branch", "branches")}, {countOf(thread.checkpoints, "checkpoint")}
            {effects > 0 && `, ${countOf(effects, "effect")}`}
          </span>
          {!thread.release && <Usage thread={thread.thread} />}
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
      <Facts thread={thread} branch={branch} head={head} />
      {!thread.release && <Unserved thread={thread.thread} />}
      {asked === "signal" && (
        <SendSignal open thread={thread.thread} awaited={signalsOf(thread, branch)} close={() => ask(undefined)} />
      )}
      <Confirm
        action={asked === "signal" ? undefined : asked}
        target={{ thread, branch, at, head }}
        close={() => ask(undefined)}
        done={done}
      />
    </>
  );
}

const exportOf = (thread: string) => {
  const { pathname, search } = new URL(threadPath(thread), location.origin);
  return `/api${pathname}/export${search}`;
};
