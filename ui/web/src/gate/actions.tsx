import { AlarmClock, Check, Ellipsis, Forward, PenLine, Reply, RotateCcw, X } from "lucide-react";
import { useEffect, useRef, useState, type KeyboardEvent, type ReactNode } from "react";
import { api, get, Problem, type Gate } from "../api/client";
import { queries } from "../data/query";
import { Button } from "../parts/button";
import { later } from "../parts/later";
import { Failure } from "../parts/notice";
import { Hidden, Said } from "../parts/said";
import { useKeys } from "../shell/keys";
import { forget, replacedBy, send, useOutcome, type Verb } from "./decide";
import type { Draft } from "./draft";
import { useSnoozed } from "./snoozed";
import css from "./actions.module.css";

const icon = { size: 16, strokeWidth: 1.5, "aria-hidden": true } as const;

const Snooze = later(async () => (await import("./snooze")).Snooze);
const Back = later(async () => (await import("./snooze")).Back);

type Way = { verb: Verb; name: string; key: string; icon: ReactNode; says: string };

const ways: Way[] = [
  { verb: "approve", name: "Approve", key: "a", icon: <Check {...icon} />, says: "Go on as proposed" },
  { verb: "reject", name: "Reject", key: "r", icon: <X {...icon} />, says: "Do not" },
  { verb: "edit", name: "Edit", key: "e", icon: <PenLine {...icon} />, says: "Go on with changed values" },
  { verb: "respond", name: "Respond", key: "p", icon: <Reply {...icon} />, says: "Answer in place of the action" },
  {
    verb: "delegate",
    name: "Delegate",
    key: "d",
    icon: <Forward {...icon} />,
    says: "Let somebody else decide in your place",
  },
];

type Props = {
  gate: Gate;
  settled: boolean;
  draft: Draft;
  folded: number;
  showAll: () => void;
  go: (id: string) => void;
};

/**
 * Actions is the bar below a question. No key and no button decides by itself: each opens a line that
 * says what will be sent, and takes a reason.
 */
export function Actions({ gate, settled, draft, folded, showAll, go }: Props) {
  const outcome = useOutcome(gate.id);
  const [snoozing, setSnoozing] = useState(false);
  const snoozed = useSnoozed(gate);
  const maySnooze = gate.may.includes("snooze") && !snoozed;
  const mounted = useRef(Date.now());
  const allowed = ways.filter((w) => gate.may.includes(w.verb) && !gate.error);
  const open = (verb: Verb) => {
    if (verb === "approve" && folded > 0) showAll();
    else draft.open(verb);
  };
  const busy = outcome?.step === "sending";
  const live = !settled && !busy && !draft.verb && !snoozing;
  useKeys({
    ...Object.fromEntries(
      ways.map((w) => [
        w.key,
        live && allowed.includes(w) ? () => Date.now() - mounted.current > 500 && open(w.verb) : undefined,
      ]),
    ),
    h: live && maySnooze ? () => setSnoozing(true) : undefined,
  });
  if (settled) return gate.may.includes("ask-again") ? <AskAgain gate={gate} go={go} /> : null;
  return (
    <footer className={css.bar}>
      <div className={css.in}>
        {outcome?.step === "refused" && <Refused gate={gate} error={outcome.error} go={go} />}
        {snoozed && <Back gate={gate} at={snoozed} />}
        {busy ? (
          <p className={css.sending} role="status">
            Recording the decision, then waiting for what follows
          </p>
        ) : draft.verb ? (
          <Confirm gate={gate} draft={draft} way={ways.find((w) => w.verb === draft.verb) as Way} />
        ) : snoozing ? (
          <Snooze gate={gate} close={() => setSnoozing(false)} />
        ) : allowed.length ? (
          <Buttons
            allowed={allowed}
            open={open}
            folded={folded}
            snooze={maySnooze ? () => setSnoozing(true) : undefined}
          />
        ) : (
          <p className={css.barred}>
            <Said>{gate.barred ?? "You may look at this question, and not decide it."}</Said>
          </p>
        )}
      </div>
    </footer>
  );
}

function Buttons({
  allowed,
  open,
  folded,
  snooze,
}: {
  allowed: Way[];
  open: (v: Verb) => void;
  folded: number;
  snooze?: () => void;
}) {
  const [first, rest] = [allowed.slice(0, 2), allowed.slice(2)];
  const button = (w: Way) => {
    const all = w.verb === "approve" && folded > 0;
    return (
      <Button
        key={w.verb}
        tone={w.verb === "approve" && !all ? "go" : "plain"}
        icon={w.icon}
        hint={w.key}
        title={w.says}
        onClick={() => open(w.verb)}
        className={w.verb === "approve" ? css.wide : ""}
      >
        {all ? "Show all first" : w.name}
      </Button>
    );
  };
  const hide = snooze && (
    <Button icon={<AlarmClock {...icon} />} hint="h" title="Hide it from your own inbox for a while" onClick={snooze}>
      Snooze
    </Button>
  );
  return (
    <div className={css.line}>
      {first.map(button)}
      <span className={css.rest}>
        {rest.map(button)}
        {hide}
      </span>
      {(rest.length > 0 || hide) && (
        <details className={css.menu}>
          <summary aria-label="other actions">
            <Ellipsis {...icon} />
          </summary>
          <div>
            {rest.map(button)}
            {hide}
          </div>
        </details>
      )}
    </div>
  );
}

function Confirm({ gate, draft, way }: { gate: Gate; draft: Draft; way: Way }) {
  const [asked, setAsked] = useState(false);
  const first = useRef<HTMLInputElement>(null);
  const wrong = draft.edit.invalid();
  const missing = way.verb === "delegate" && draft.to.trim() === "";
  useEffect(() => first.current?.focus(), []);
  const submit = () => {
    setAsked(true);
    if (wrong || missing) return;
    const verb = way.verb;
    draft.open(undefined);
    void send(gate, {
      verb,
      reason: draft.reason,
      to: draft.to.trim(),
      value: verb === "edit" || verb === "respond" ? draft.edit.value : undefined,
    });
  };
  const press = (e: KeyboardEvent) => {
    if (e.key === "Escape") draft.open(undefined);
    else if (e.key === "Enter" && e.shiftKey) submit();
    else return;
    e.preventDefault();
  };
  return (
    <form
      className={css.confirm}
      onKeyDown={press}
      onSubmit={(e) => e.preventDefault()}
      aria-label={`${way.name}: confirm`}
    >
      <p
        className={
          way.verb === "approve" ? `${css.what} ${css.go}` : way.verb === "reject" ? `${css.what} ${css.no}` : css.what
        }
      >
        {way.icon}
        <strong>{way.name}</strong>
        <span className={css.intent}>
          <Said>{gate.intent}</Said>
        </span>
      </p>
      <Hidden texts={[draft.reason, draft.to]} />
      {asked && (wrong || missing) && (
        <p className={css.no} role="alert">
          {wrong || "Say who shall decide in your place."}
        </p>
      )}
      <div className={css.line}>
        {way.verb === "delegate" && (
          <input
            ref={first}
            className={css.to}
            aria-label="to"
            placeholder="to whom"
            autoComplete="off"
            value={draft.to}
            onChange={(e) => draft.setTo(e.target.value)}
          />
        )}
        <input
          ref={way.verb === "delegate" ? undefined : first}
          className={css.reason}
          aria-label="reason"
          placeholder="reason, on record"
          maxLength={4000}
          autoComplete="off"
          value={draft.reason}
          onChange={(e) => draft.setReason(e.target.value)}
        />
        <Button
          tone={way.verb === "approve" ? "go" : way.verb === "reject" ? "danger" : "plain"}
          hint="Shift ⏎"
          onClick={submit}
          className={css.wide}
        >
          {way.name}
        </Button>
        <Button hint="Esc" onClick={() => draft.open(undefined)}>
          Back
        </Button>
      </div>
    </form>
  );
}

/** wasHeard says whether the server answered, so that a refusal is known to be one. */
const wasHeard = (error: unknown) =>
  error instanceof Problem && error.body.status !== undefined && error.body.status < 500;

function Refused({ gate, error, go }: { gate: Gate; error: unknown; go: (id: string) => void }) {
  const next = replacedBy(error);
  return (
    <div className={css.refused}>
      <Failure
        error={error}
        safe={
          wasHeard(error)
            ? "Nothing was decided by this."
            : "It is not known whether the decision arrived. A decision counts once, so it can be sent again."
        }
      />
      {next ? (
        <Button onClick={() => go(next)}>Show the question that replaces it</Button>
      ) : (
        <Button tone="quiet" onClick={() => forget(gate.id)}>
          Close
        </Button>
      )}
    </div>
  );
}

/** AskAgain asks a question once more that nobody answered in time, or that was withdrawn. */
function AskAgain({ gate, go }: { gate: Gate; go: (id: string) => void }) {
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const again = async () => {
    setBusy(true);
    try {
      const asked = await get(api.POST("/api/gates/{id}/ask-again", { params: { path: { id: gate.id } } }));
      await queries.invalidateQueries({ queryKey: ["live"] });
      go(asked.id);
    } catch (e) {
      setError(e);
      setBusy(false);
    }
  };
  return (
    <footer className={css.bar}>
      <div className={css.in}>
        {error !== undefined && <Failure error={error} />}
        <div className={css.line}>
          <Button icon={<RotateCcw {...icon} />} disabled={busy} onClick={() => void again()}>
            Ask again
          </Button>
          <span className={css.barred}>
            Nobody answered. The same question is put once more, with as much time as it had.
          </span>
        </div>
      </div>
    </footer>
  );
}
