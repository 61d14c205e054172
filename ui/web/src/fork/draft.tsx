import { useCheckpoint } from "../data/checkpoints";
import { GitFork } from "lucide-react";
import { useEffect, useMemo, useState } from "react";
import { useSearch } from "wouter";
import { api, get, Problem } from "../api/client";
import type { Checkpoint } from "../data/checkpoints";
import { useMe } from "../data/me";
import { queries } from "../data/query";
import { useEdit } from "../form/edit";
import { Named } from "../form/fields";
import { SchemaForm } from "../form/form";
import { useProgram } from "../data/programs";
import { Button } from "../parts/button";
import { Folds, useFolds } from "../parts/fold";
import { Failure, Skeleton } from "../parts/notice";
import { Said } from "../parts/said";
import { useWide } from "../parts/wide";
import { onRecord, type Node } from "../text/json";
import type { Where } from "../thread/address";
import { Lists } from "./lists";
import { whileBusy } from "./again";
import { changesOf } from "./changes";
import { usePlan, type Body } from "./plan";
import { whyNot } from "./run";
import css from "./draft.module.css";

type Props = { at: Checkpoint; go: (to: Partial<Where>) => void };

/** What was typed is kept for each checkpoint, while this tab lives. */
const typed = new Map<string, { value: Node; branch: string; run: boolean; keep: boolean }>();

/** Draft is a fork that is not made: nothing is written before its one button is pressed. */
export function Draft({ at, go }: Props) {
  const me = useMe();
  const wide = useWide();
  const version = new URLSearchParams(useSearch()).get("version");
  const state = useCheckpoint(at.id, true);
  const program = useProgram(at.graph ?? "");
  const schema = useMemo(() => onRecord(program.data?.state), [program.data]);
  const start = useMemo(() => onRecord(state.data?.state), [state.data]);
  const kept = typed.get(at.id);
  const [before] = useState(kept !== undefined);
  const edit = useEdit();
  const [branch, setBranch] = useState(kept?.branch ?? "");
  const [run, setRun] = useState(kept?.run ?? false);
  const [keep, setKeep] = useState(kept?.keep ?? false);
  const [sent, setSent] = useState<{ busy: boolean; error?: unknown }>({ busy: false });
  // One key a draft: a request whose answer was lost is sent again without making two forks.
  const [key, setKey] = useState(newKey);
  useEffect(() => {
    if (!start) return;
    edit.begin(start);
    if (kept) edit.set(kept.value);
  }, [start]);
  useEffect(() => {
    if (edit.value) typed.set(at.id, { value: edit.value, branch, run, keep });
  }, [edit.value, branch, run, keep]);
  const wrong = edit.invalid();
  const changes = useMemo(
    () => (wrong ? {} : changesOf(start, edit.given(), state.data?.codecs)),
    [start, edit.value, edit.raw, wrong],
  );
  const body: Body = {
    ...changes,
    ...(branch.trim() ? { branch: branch.trim() } : {}),
    ...(keep && edit.changed() ? { keepNext: true } : {}),
  };
  const plan = usePlan(at.id, useLater(body));
  const name = branch.trim() || plan.data?.branch || "a new branch";
  const folds = useFolds();
  const not = whyNot(plan.data, plan.error !== null);
  const submit = async () => {
    if (sent.busy || wrong || !start || folds.folded > 0) return;
    setSent({ busy: true });
    try {
      let sending = key; // an answer that it is busy stands under its key
      const made = await whileBusy(() => {
        const header = { "Idempotency-Key": sending };
        sending = newKey();
        return get(
          api.POST("/api/checkpoints/{id}/fork", {
            params: { path: { id: at.id }, header },
            body: { ...body, ...(run && not === "" ? { run: true } : {}) },
          }),
        );
      });
      typed.delete(at.id);
      await queries.invalidateQueries({ queryKey: ["live"] });
      go({ draft: undefined, with: undefined, tab: "change", branch: made.branch, at: undefined, version: undefined });
    } catch (error) {
      setSent({ busy: false, error });
      if (error instanceof Problem && error.body.status !== undefined) setKey(newKey);
    }
  };
  if (me.data && me.data.role !== "operator")
    return <p className={css.quiet}>Operators make forks. You may look at those that there are.</p>;
  return (
    <form
      className={css.draft}
      aria-label="fork"
      onSubmit={(e) => {
        e.preventDefault();
        void submit();
      }}
      onKeyDown={(e) => {
        if (e.key === "Escape") {
          e.preventDefault();
          go({ draft: undefined });
        } else if (e.key === "Enter" && e.shiftKey) {
          e.preventDefault();
          void submit();
        }
      }}
    >
      <div className={css.body}>
        <div className={css.scroll}>
          <h2 className={css.title}>
            <GitFork size={16} strokeWidth={1.5} aria-hidden /> Fork from #{at.seq}
          </h2>
          <p className={css.quiet}>
            {version ? (
              <>
                Version <Said>{version}</Said> stays as it is. The fork belongs to the thread that has its name now:
                where that name is free, it takes it.
              </>
            ) : (
              <>
                A branch that begins with this state. <Said>{at.branch}</Said> and all that is on record stay as they
                are.
              </>
            )}
          </p>
          <label className={css.name}>
            <span>Name</span>
            <input
              value={branch}
              placeholder={plan.data?.branch ?? "fork-1"}
              autoFocus={wide}
              autoComplete="off"
              spellCheck={false}
              onChange={(e) => setBranch(e.target.value)}
            />
          </label>
          <div className={css.head}>
            <h3>State{edit.changed() && <span>, changed{before && ", as you left it"}</span>}</h3>
            {edit.drawn() && (
              <Button tone="quiet" onClick={() => edit.showRaw(edit.raw === undefined)}>
                {edit.raw === undefined ? "JSON" : "Form"}
              </Button>
            )}
          </div>
          {state.isPending && <Skeleton rows={5} height={32} />}
          {state.error && <Failure error={state.error} safe="Without its state it cannot be forked." />}
          {edit.value && (
            <div className={css.state}>
              <Named value={true}>
                <SchemaForm edit={edit} schema={schema} />
              </Named>
            </div>
          )}
          {plan.error && !wrong && <Failure error={plan.error} safe="It would be refused. Nothing was written." />}
        </div>
        <div className={css.lists}>
          {plan.data && !plan.error && (
            <Folds scope={folds.scope}>
              <Lists plan={plan.data} branch={at.branch} />
            </Folds>
          )}
          {!plan.data && !plan.error && <Skeleton rows={4} height={24} />}
          {plan.error && <p className={css.quiet}>What it would do is not known, since it would be refused.</p>}
        </div>
        <footer className={css.bar}>
          {sent.error !== undefined && (
            <Failure
              error={sent.error}
              safe={
                sent.error instanceof Problem && sent.error.body.status !== undefined && sent.error.body.status < 500
                  ? "No fork was made."
                  : "It is not known whether the fork was made. It can be sent again, and is made once."
              }
            />
          )}
          {plan.data?.routes && (
            <label className={css.run}>
              <input type="checkbox" checked={keep} onChange={(e) => setKeep(e.target.checked)} />
              keep the next nodes <span>otherwise routes and maps choose again, from this state</span>
            </label>
          )}
          <label className={css.run}>
            <input
              type="checkbox"
              checked={run && not === ""}
              disabled={not !== ""}
              onChange={(e) => setRun(e.target.checked)}
            />
            run it at once <span>{not || "otherwise it waits until it is resumed"}</span>
          </label>
          <div className={css.buttons}>
            {folds.folded > 0 ? (
              <Button onClick={folds.showAll}>Show all first</Button>
            ) : (
              <Button type="submit" disabled={sent.busy || wrong !== "" || !start || plan.error !== null} hint="⇧↵">
                {sent.busy ? "Forking…" : `Fork as ${name}`}
              </Button>
            )}
            <Button tone="quiet" hint="Esc" onClick={() => go({ draft: undefined })}>
              Back
            </Button>
          </div>
        </footer>
      </div>
    </form>
  );
}

const newKey = () => `fork-${Array.from(crypto.getRandomValues(new Uint32Array(4)), (n) => n.toString(36)).join("-")}`;

/** useLater returns a body once nothing was typed for a moment. */
function useLater(body: Body): Body {
  const text = JSON.stringify(body);
  const [later, setLater] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setLater(text), 300);
    return () => clearTimeout(timer);
  }, [text]);
  return useMemo(() => JSON.parse(later) as Body, [later]);
}
