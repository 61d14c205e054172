import { useState } from "react";
import { queries } from "../data/query";
import { useResumes } from "../fork/plan";
import { Button } from "../parts/button";
import { Dialog } from "../parts/dialog";
import { Folds, useFolds } from "../parts/fold";
import { later } from "../parts/later";
import { Failure } from "../parts/notice";
import { Said } from "../parts/said";
import { act, actions, type ActionKey, type Done, type Target } from "./actions";
import { marked } from "../text/hidden";
import { newKey } from "../text/key";
import css from "./confirm.module.css";

const Resumes = later(async () => (await import("../fork/resumes")).Resumes);
const Ahead = later(async () => (await import("../fork/ahead")).Ahead);

type Props = { action: ActionKey | undefined; target: Omit<Target, "key">; close: () => void; done: (d: Done) => void };

/** Confirm asks once more before an action. What cannot be taken back takes the thread's name. */
export const Confirm = ({ action, ...rest }: Props) => (
  <Dialog open={action !== undefined} close={rest.close} title={action ? actions[action].name : ""} top>
    {action && <Form key={action} action={action} {...rest} />}
  </Dialog>
);

function Form({ action, target, close, done }: Props & { action: ActionKey }) {
  const { name, does, danger, final, asks } = actions[action];
  const [key] = useState(() => newKey());
  const [text, setText] = useState("");
  const [typed, setTyped] = useState("");
  const [sending, setSending] = useState(false);
  const [error, setError] = useState<unknown>();
  const thread = target.thread.thread;
  const shown = marked(thread); // with a mark for each character that is not seen, as it stands below
  const planned = useResumes(action === "resume" ? target.head : undefined);
  const seen = action !== "resume" || !planned.isPending; // nobody sends before they could read what it does
  const folds = useFolds(planned.data);
  const hidden = folds.folded > 0;
  const ready =
    seen && !hidden && !sending && (!final || typed === thread || typed === shown) && (asks !== "name" || text !== "");
  const send = async () => {
    if (!ready) return;
    setSending(true);
    setError(undefined);
    try {
      const result = await act(action, { ...target, key }, text);
      void queries.invalidateQueries({ queryKey: ["live"] });
      close();
      done(result);
    } catch (e) {
      setError(e);
    } finally {
      setSending(false);
    }
  };
  return (
    <form
      className={css.form}
      onSubmit={(e) => {
        e.preventDefault();
        void send();
      }}
    >
      <h2>
        {name} <Said>{action === "cancel" ? `${target.branch} of ${thread}` : thread}</Said>
      </h2>
      <p>{does}</p>
      <Folds scope={folds.scope}>
        <div className={css.plan}>
          {action === "resume" && <Resumes at={target.head} />}
          {action === "replay" && <Ahead at={target.at} branch={target.branch} />}
          <div ref={folds.end} />
        </div>
      </Folds>
      {asks && (
        <label>
          {asks === "name" ? "Name of the new thread" : "Reason, goes on record"}
          <input value={text} autoFocus={!final} onChange={(e) => setText(e.target.value)} maxLength={1000} />
        </label>
      )}
      {final && (
        <label>
          <span>
            This cannot be taken back. Type{" "}
            <code>
              <Said>{thread}</Said>
            </code>{" "}
            to confirm
          </span>
          <input
            value={typed}
            autoFocus
            autoComplete="off"
            spellCheck={false}
            onChange={(e) => setTyped(e.target.value)}
            aria-label="the thread's name"
          />
        </label>
      )}
      {error !== undefined && <Failure error={error} />}
      <div className={css.buttons}>
        <Button onClick={close}>Back</Button>
        {hidden ? (
          <Button onClick={folds.showAll}>Show all first</Button>
        ) : (
          <Button type="submit" tone={danger ? "danger" : "plain"} disabled={!ready}>
            {sending ? "Sending" : name}
          </Button>
        )}
      </div>
    </form>
  );
}
