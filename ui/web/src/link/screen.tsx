import { Check, TriangleAlert, X, PenLine, Reply } from "lucide-react";
import { useEffect, useRef, useState, type ReactNode } from "react";
import type { Gate } from "../api/client";
import { Approved } from "../gate/content";
import { Changes } from "../gate/changes";
import { Confirm } from "../gate/confirm";
import { forget, stateOf, useOutcome, wasHeard, type Verb } from "../gate/decide";
import { Intent, Rest } from "../gate/detail";
import { ownedBy, typed } from "../data/typed";
import { useDraft, type Draft } from "../gate/draft";
import { Duplicates } from "../gate/duplicates";
import { Last } from "../gate/last";
import { isUnknown, wordOf } from "../gate/right";
import { DecidedBy } from "../gate/settled";
import { Why } from "../gate/why";
import { Button } from "../parts/button";
import { Card } from "../parts/card";
import { Chip } from "../parts/chip";
import { Folds, useFolds } from "../parts/fold";
import { later } from "../parts/later";
import { Failure } from "../parts/notice";
import { Hidden, Said } from "../parts/said";
import { At, left, useNow } from "../parts/time";
import { Logo } from "../shell/logo";
import { onRecord, texts } from "../text/json";
import { About, earlyEnd } from "./about";
import { Bad, hasEnded } from "./bad";
import type { Link } from "./address";
import { gateOf, look, type Asked } from "./link";
import css from "./screen.module.css";

const icon = { size: 16, strokeWidth: 1.5, "aria-hidden": true } as const;
const Late = later(async () => (await import("../gate/late")).Late);
const ValueForm = later(async () => (await import("../gate/form")).ValueForm);

const pause = 15_000;

/** LinkScreen is the page of a link that carries the right to decide one question. */
export function LinkScreen({ link }: { link: Link }) {
  const [asked, setAsked] = useState<Asked>();
  const [error, setError] = useState<unknown>();
  const outcome = useOutcome(link.id);
  const read = () =>
    look(link).then(
      (a) => {
        ownedBy(a.for);
        setAsked(a);
        setError(undefined);
      },
      (e: unknown) => setError(e),
    );
  useEffect(() => {
    if (outcome?.step !== "sending") void read();
  }, [outcome?.step]);
  useEffect(() => {
    if (hasEnded(error)) return;
    const seen = () => document.visibilityState === "visible" && outcome?.step !== "sending" && void read();
    document.addEventListener("visibilitychange", seen);
    const timer = setInterval(seen, pause); // what other branches ask, and what others decide, shows by itself
    return () => {
      document.removeEventListener("visibilitychange", seen);
      clearInterval(timer);
    };
  }, [hasEnded(error), outcome?.step]);
  return (
    <div className={css.page}>
      <header className={css.header}>
        <Logo />
        {asked && !hasEnded(error) ? <h1 className={css.name}>Posthouse</h1> : <strong>Posthouse</strong>}
        {asked && (
          <span className={css.who}>
            you decide as{" "}
            <strong>
              <Said>{asked.for}</Said>
            </strong>
          </span>
        )}
      </header>
      {asked && !hasEnded(error) ? (
        <Question key={asked.gate.id} asked={asked} error={error} read={read} />
      ) : (
        <main className={css.in}>
          {error !== undefined && <Bad error={error} again={read} outcome={outcome} reason={typed(link.id)} />}
        </main>
      )}
    </div>
  );
}

function Question({ asked, error, read }: { asked: Asked; error: unknown; read: () => void }) {
  const gate = gateOf(asked);
  const now = useNow();
  const folds = useFolds();
  const draft = useDraft(gate);
  const outcome = useOutcome(gate.id);
  const settled = gate.state !== "open";
  const payload = onRecord(gate.payload);
  const state = settled ? stateOf(gate, undefined) : isUnknown(gate) ? "unknown" : "waiting";
  useEffect(() => {
    if (outcome?.step === "acknowledged") draft.open(undefined);
  }, [outcome?.step]);
  // What was being decided as it was settled by others came too late, and is not lost without a word.
  const late = settled && outcome?.step !== "acknowledged" && outcome?.step !== "sending" ? draft.verb : undefined;
  const main = useRef<HTMLElement>(null);
  const began = useRef(false);
  useEffect(() => {
    // Somebody may have approved the same on another branch by now.
    if (draft.verb) read();
    // What had the focus is gone: keys and screen readers go on from the question.
    else if (began.current && document.activeElement === document.body) main.current?.focus({ preventScroll: true });
    began.current = true;
  }, [draft.verb, outcome?.step]);
  return (
    <Folds scope={folds.scope}>
      <main ref={main} tabIndex={-1} className={css.scroll}>
        <div className={css.in}>
          <Chip state={state} also={!settled && gate.expiresAt ? left(gate.expiresAt, now) : undefined} />
          <Intent text={gate.intent} />
          <About asked={asked} gate={gate} settled={settled} />
          <Hidden
            texts={[
              gate.name,
              gate.text,
              gate.note,
              gate.requestedBy,
              ...gate.binding.map((f) => f.label),
              ...(gate.assignees ?? []),
              ...texts(payload),
            ]}
          />
          {error !== undefined && outcome?.step !== "refused" && (
            <Failure error={error} safe="What you see may be old." />
          )}
          {!settled && gate.duplicates && <Duplicates of={gate.duplicates} />}
          <Approved gate={gate} decided={settled} alone />
          <Became asked={asked} gate={gate} />
          {gate.before && <Changes gate={gate} />}
          <Rest gate={gate} />
          <div ref={folds.end} />
          {!settled && (draft.verb === "edit" || draft.verb === "respond" || draft.verb === "happened") && (
            <ValueForm gate={gate} draft={draft} />
          )}
        </div>
      </main>
      {late && (
        <Late
          name={wordOf(gate, late).name}
          gate={gate}
          outcome={outcome}
          reason={draft.reason}
          close={() => draft.open(undefined)}
        />
      )}
      {!settled && (
        <Bar gate={gate} draft={draft} folded={folds.folded} showAll={folds.showAll} ends={earlyEnd(asked)} />
      )}
    </Folds>
  );
}

/** Became says what is on record of a decision, or of the own vote. */
function Became({ asked, gate }: { asked: Asked; gate: Gate }) {
  const outcome = useOutcome(gate.id);
  const said = outcome?.step === "acknowledged" ? outcome.text : undefined;
  const d = asked.decision;
  if (!d && !said) return null;
  return (
    <Card title="What is on record" label="outcome">
      <div className={css.body} role="status">
        {d && (
          <p>
            <DecidedBy decision={d} />, <At at={d.at} />
            {(asked.why || d.reason) && (
              <>
                : <Why decision={d} told={asked.why} />
              </>
            )}
          </p>
        )}
        {said && <p>{said}</p>}
        {d?.successor && (
          <p>
            Another question took its place: what is asked changed. It comes with a link of its own. This one decides
            nothing.
          </p>
        )}
        {!d?.successor && <p className={css.close}>You can close this page.</p>}
      </div>
    </Card>
  );
}

type Way = { verb: Verb; icon: ReactNode };

const ways: Way[] = [
  { verb: "approve", icon: <Check {...icon} /> },
  { verb: "reject", icon: <X {...icon} /> },
  { verb: "edit", icon: <PenLine {...icon} /> },
  { verb: "respond", icon: <Reply {...icon} /> },
];

/** To do something again is not given by a link. */
const unknownWays: Way[] = [
  { verb: "happened", icon: <Check {...icon} /> },
  { verb: "give-up", icon: <X {...icon} /> },
];

type BarProps = { gate: Gate; draft: Draft; folded: number; showAll: () => void; ends: string | undefined };

/** Bar has the verdicts that the link gives. None of them decides: each opens a line that says what is sent. */
function Bar({ gate, draft, folded, showAll, ends }: BarProps) {
  const outcome = useOutcome(gate.id);
  const unknown = isUnknown(gate);
  const allowed = (unknown ? unknownWays : ways).filter((w) => gate.may.includes(w.verb));
  const chosen = allowed.find((w) => w.verb === draft.verb);
  if (outcome?.step === "acknowledged" && allowed.length === 0) return null;
  const button = (w: Way) => {
    const all = w.verb === "approve" && folded > 0;
    const word = wordOf(gate, w.verb);
    return (
      <li key={w.verb}>
        <Button
          tone={w.verb === "approve" && !all && !word.risk ? "go" : "plain"}
          icon={w.icon}
          onClick={() => (all ? showAll() : draft.open(w.verb))}
        >
          {all ? "Show all first" : word.name}
        </Button>
        {unknown && <span>{word.says}</span>}
      </li>
    );
  };
  return (
    <footer className={css.bar}>
      <div className={css.inBar}>
        {outcome?.step === "refused" && (
          <div className={css.refused}>
            <Failure
              sent
              error={outcome.error}
              safe={
                wasHeard(outcome.error)
                  ? "Nothing was decided by this."
                  : "It is not known whether the decision arrived. A decision counts once, so it can be sent again."
              }
            />
            <Button tone="quiet" onClick={() => forget(gate.id)}>
              Close
            </Button>
          </div>
        )}
        {outcome?.step === "sending" ? (
          <p role="status">Recording the decision</p>
        ) : chosen ? (
          <>
            {ends && <Last at={ends} link />}
            <Confirm gate={gate} draft={draft} icon={chosen.icon} verb={chosen.verb} />
          </>
        ) : (
          allowed.length > 0 && <ul className={unknown ? css.stack : css.line}>{allowed.map(button)}</ul>
        )}
        {allowed.length === 0 && (
          <p className={css.barred}>
            <TriangleAlert {...icon} />
            <span>
              You cannot decide this now: <Said>{gate.barred ?? "the link gives no verdict"}</Said>
            </span>
          </p>
        )}
      </div>
    </footer>
  );
}
