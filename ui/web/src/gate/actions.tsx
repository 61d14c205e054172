import { AlarmClock, Check, Ellipsis, Forward, PenLine, Reply, RotateCcw, Undo2, X } from "lucide-react";
import { useEffect, useMemo, useRef, useState, type ReactNode } from "react";
import type { Gate } from "../api/client";
import { Button } from "../parts/button";
import { later } from "../parts/later";
import { Failure } from "../parts/notice";
import { inSession, useGate } from "../data/gates";
import { useDecides, useMe } from "../data/me";
import { Said } from "../parts/said";
import { useKeys } from "../shell/keys";
import { Barred } from "./barred";
import { forget, moves, replacedBy, useOutcome, wasHeard, type Verb } from "./decide";
import type { Draft } from "./draft";
import { handed, isUnknown, wordOf } from "./right";
import { useSnoozed } from "./snoozed";
import css from "./actions.module.css";

const icon = { size: 16, strokeWidth: 1.5, "aria-hidden": true } as const;

const Confirm = later(async () => (await import("./confirm")).Confirm);
const Snooze = later(async () => (await import("./snooze")).Snooze);
const Back = later(async () => (await import("./snooze")).Back);

const Late = later(async () => (await import("./late")).Late);

const AskAgain = later(async () => (await import("./again")).AskAgain);

type Way = { verb: Verb; key: string; icon: ReactNode };

const ways: Way[] = [
  { verb: "approve", key: "a", icon: <Check {...icon} /> },
  { verb: "reject", key: "r", icon: <X {...icon} /> },
  { verb: "edit", key: "e", icon: <PenLine {...icon} /> },
  { verb: "respond", key: "p", icon: <Reply {...icon} /> },
  { verb: "delegate", key: "d", icon: <Forward {...icon} /> },
  { verb: "take-back", key: "t", icon: <Undo2 {...icon} /> },
];

/** To do something again comes last: what else an unknown outcome allows is safe. */
const unknownWays: Way[] = [
  { verb: "happened", key: "p", icon: <Check {...icon} /> },
  { verb: "give-up", key: "r", icon: <X {...icon} /> },
  { verb: "redo", key: "a", icon: <RotateCcw {...icon} /> },
  ...ways.filter((w) => moves(w.verb)),
];

type Props = {
  gate: Gate;
  settled: boolean;
  draft: Draft;
  folded: number;
  showAll: () => void;
  byItself: boolean;
  go: (id: string) => void;
};

/**
 * Actions is the bar below a question. No key and no button decides by itself: each opens a line that
 * says what will be sent, and takes a reason.
 */
export function Actions({ gate, settled, draft, folded, showAll, byItself, go }: Props) {
  const outcome = useOutcome(gate.id);
  const [snoozing, setSnoozing] = useState(false);
  const snoozed = useSnoozed(gate);
  const maySnooze = gate.may.includes("snooze") && !snoozed;
  const mounted = useRef(performance.now());
  const all = isUnknown(gate) ? unknownWays : ways;
  const allowed = all.filter((w) => gate.may.includes(w.verb) && !gate.error);
  const open = (verb: Verb) => {
    if (verb === "approve" && folded > 0) showAll();
    else draft.open(verb);
  };
  const busy = outcome?.step === "sending";
  const live = !settled && !busy && !draft.verb && !snoozing;
  useKeys({
    ...Object.fromEntries(
      all.map((w) => [
        w.key,
        live && allowed.includes(w)
          ? () => (!byItself || performance.now() - mounted.current > 500) && open(w.verb)
          : undefined,
      ]),
    ),
    h: live && maySnooze ? () => setSnoozing(true) : undefined,
  });
  const decides = useDecides();
  useEffect(() => void Confirm.begin().catch(() => {}), []); // what is pressed opens at once
  const confirmed = draft.verb && all.find((w) => w.verb === draft.verb);
  if (settled && confirmed && !busy && outcome?.step !== "acknowledged")
    return (
      <Late
        name={wordOf(gate, confirmed.verb).name}
        gate={gate}
        outcome={outcome}
        reason={draft.reason}
        close={() => draft.open(undefined)}
      />
    );
  if (settled) return gate.may.includes("ask-again") ? <AskAgain gate={gate} go={go} /> : null;
  if (!decides) return null; // said once, above all screens
  return (
    <footer className={css.bar}>
      <div className={css.in}>
        {outcome?.step === "refused" && <Refused gate={gate} error={outcome.error} verb={outcome.verb} go={go} />}
        {snoozed && <Back gate={gate} at={snoozed} />}
        {busy ? (
          <p className={css.sending} role="status">
            Recording the decision, then waiting for what follows
          </p>
        ) : confirmed ? (
          <Confirm gate={gate} draft={draft} icon={confirmed.icon} verb={confirmed.verb} />
        ) : snoozing ? (
          <Snooze gate={gate} close={() => setSnoozing(false)} />
        ) : allowed.length ? (
          <>
            {gate.may.includes("take-back") && <Handed gate={gate} />}
            <Buttons
              gate={gate}
              allowed={allowed}
              open={open}
              folded={folded}
              snooze={maySnooze ? () => setSnoozing(true) : undefined}
            />
          </>
        ) : (
          <Barred gate={gate} />
        )}
      </div>
    </footer>
  );
}

/** Handed says who decides in one's place. */
function Handed({ gate }: { gate: Gate }) {
  const me = useMe().data?.name;
  const to = handed(gate, me);
  if (!to) return null;
  return (
    <p className={css.handed}>
      You handed it to <Said>{to}</Said>, who decides in your place.
    </p>
  );
}

function Buttons({
  gate,
  allowed,
  open,
  folded,
  snooze,
}: {
  gate: Gate;
  allowed: Way[];
  open: (v: Verb) => void;
  folded: number;
  snooze?: () => void;
}) {
  const [first, rest] = [allowed.slice(0, 2), allowed.slice(2)];
  const button = (w: Way) => {
    const all = w.verb === "approve" && folded > 0;
    const word = wordOf(gate, w.verb);
    return (
      <Button
        key={w.verb}
        tone={w.verb === "approve" && !all && !word.risk ? "go" : "plain"}
        icon={w.icon}
        hint={w.key}
        title={word.says}
        onClick={() => open(w.verb)}
        className={w.verb === "approve" ? css.wide : ""}
      >
        {all ? "Show all first" : word.name}
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

type RefusedProps = { gate: Gate; error: unknown; verb: Verb; go: (id: string) => void };

function Refused({ gate, error, verb, go }: RefusedProps) {
  const next = replacedBy(error);
  const heard = wasHeard(error);
  const since = useMemo(() => performance.now(), [error]);
  const now = useGate(gate.id, !heard && !inSession(gate));
  // Since the server is back, it is known: one that arrived would be on record, and none could follow.
  const lost = !heard && now.dataUpdatedAt > since && now.data?.may.includes(verb);
  return (
    <div className={css.refused}>
      {lost ? (
        <p role="status">
          The decision did not arrive: the server was away, and the question is still open. Send it again.
        </p>
      ) : (
        <Failure
          sent
          error={error}
          safe={
            heard
              ? "Nothing was decided by this."
              : "It is not known whether the decision arrived. A decision counts once, so it can be sent again."
          }
        />
      )}
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
