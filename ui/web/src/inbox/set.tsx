import { Check, X } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { Link } from "wouter";
import type { Gate } from "../api/client";
import { duplicatedOf } from "../data/duplicates";
import { inSet, outcomeOf, send, wasHeard } from "../gate/decide";
import { useReady } from "../gate/ready";
import { tooLong } from "../gate/reason";
import { announce } from "../parts/announce";
import { Button } from "../parts/button";
import { Folds, useFolds } from "../parts/fold";
import { Failure } from "../parts/notice";
import { Said } from "../parts/said";
import { useNow } from "../parts/time";
import { SetTable, useCells } from "./set-table";
import { elsewhere, reasons, takes, whyNot, type Left, type Verb } from "./together";
import css from "./set.module.css";

const atOnce = 4;

type Sent = {
  verb: Verb;
  done: number;
  of: number;
  /** twice counts those that were not sent: since the set was opened, another branch asks or did the same. */
  twice: number;
  refused: number;
  unheard: number;
  over: boolean;
  left: { why: string }[];
};

type Props = { gates: Gate[]; left: Left[]; unread: boolean; gone: Set<string>; address: (id: string) => string };

/**
 * SetDetail decides several gates of one question: a row each, with what differs marked and sums that
 * are exact. Each gets a decision and a receipt of its own. What a verdict cannot be given to is said
 * before and after, with why.
 */
export function SetDetail({ gates, left, unread, gone, address }: Props) {
  const now = useNow();
  const [out, setOut] = useState(new Set<string>());
  const [verb, setVerb] = useState<Verb>();
  const [reason, setReason] = useState("");
  const long = tooLong(reason);
  const [sent, setSent] = useState<Sent>();
  const [error, setError] = useState<unknown>();
  const [twice, setTwice] = useState(new Set<string>());
  const { folded, showAll, scope } = useFolds();
  const end = useRef<HTMLButtonElement>(null);
  const busy = sent !== undefined && !sent.over;
  const isOpen = (g: Gate) => !gone.has(g.id) && outcomeOf(g.id)?.step !== "acknowledged";
  const chosen = gates.filter((g) => !out.has(g.id) && isOpen(g));
  const given = (v: Verb) => chosen.filter((g) => takes(g, v, now));
  const kept = (v: Verb) => chosen.flatMap((g) => (takes(g, v, now) ? [] : [{ gate: g, why: whyNot(g, v, now) }]));
  const cells = useCells(gates, verb ? given(verb) : chosen);
  const flip = (id: string) => {
    const next = new Set(out);
    if (!next.delete(id)) next.add(id);
    setOut(next);
  };
  const run = async (v: Verb) => {
    const asked = given(v);
    if (asked.length === 0 || long) return;
    setVerb(undefined);
    setError(undefined);
    const so: Sent = {
      verb: v,
      done: 0,
      of: asked.length,
      twice: 0,
      refused: 0,
      unheard: 0,
      over: false,
      left: [...kept(v), ...left],
    };
    setSent({ ...so });
    let found = new Set<string>();
    try {
      // Since the set was opened, another branch may ask the same, or have it done already.
      if (v === "approve") found = await duplicatedOf(asked);
    } catch (e) {
      setError(e);
      setSent(undefined);
      setVerb(v);
      return;
    }
    const queue = asked.filter((g) => !found.has(g.id));
    so.twice = asked.length - queue.length;
    setTwice(new Set([...twice, ...found]));
    setOut(new Set([...out, ...found]));
    const work = async () => {
      for (let g = queue.shift(); g; g = queue.shift()) {
        await send(g, { verb: v, reason }, inSet);
        so.done++;
        const outcome = outcomeOf(g.id);
        if (outcome?.step === "refused") so[wasHeard(outcome.error) ? "refused" : "unheard"]++;
        setSent({ ...so });
      }
    };
    await Promise.all(Array.from({ length: atOnce }, work));
    so.over = true;
    setSent({ ...so });
    announce(became(so));
  };
  useEffect(() => {
    if (sent && !busy) end.current?.focus();
  }, [sent, busy]);
  const hidden = folded > 0 || cells.cut;
  return (
    <article className={css.set} aria-label="decide together">
      <div className={css.scroll}>
        <p className={css.back}>
          <Link href={address("")}>Inbox</Link>
        </p>
        <h2 className={css.title}>
          <Said>{gates[0]?.name}</Said>: {gates.length} questions
        </h2>
        <p className={css.about}>
          A row is a question, with the values that it is about exactly as they are on record. What differs is marked.
          Each gets a decision of its own.
          {unread && " There are more questions than the list has read: those are not here."}
        </p>
        <Folds scope={scope}>
          <SetTable
            gates={gates}
            cells={cells}
            address={address}
            state={(g) =>
              gone.has(g.id) && !outcomeOf(g.id) ? "decided meanwhile" : twice.has(g.id) ? elsewhere : notes(g, now)
            }
            on={(g) => chosen.includes(g)}
            flip={busy ? undefined : (g) => (isOpen(g) ? flip(g.id) : undefined)}
            of={(verb ? given(verb) : chosen).length}
          />
        </Folds>
        {left.length > 0 && <LeftOut left={left} address={address} />}
      </div>
      <footer className={css.bar}>
        {error !== undefined && <Failure error={error} safe="Nothing was sent." />}
        {sent && (
          <p role="status" className={css.says}>
            {busy ? `${sent.done} of ${sent.of - sent.twice} sent` : became(sent)}
          </p>
        )}
        {busy ? null : verb ? (
          <form
            onSubmit={(e) => e.preventDefault()}
            onKeyDown={(e) => {
              if (e.key === "Escape") setVerb(undefined);
              else if (e.key === "Enter" && e.shiftKey) void run(verb);
              else return;
              e.preventDefault();
            }}
          >
            <p className={css.says}>
              <strong className={verb === "approve" ? css.go : css.bad}>
                {names[verb]} {given(verb).length} of {chosen.length}
              </strong>
              {cells.total && (
                <>
                  , in all <Said>{cells.total}</Said>
                </>
              )}
              .<LeftLine left={kept(verb)} />
            </p>
            {long && (
              <p className={css.bad} role="alert">
                {long}
              </p>
            )}
            <div className={css.line}>
              <input
                className={css.reason}
                autoFocus
                aria-label="reason"
                placeholder="reason, on record with each"
                value={reason}
                onChange={(e) => setReason(e.target.value)}
              />
              <Send verb={verb} n={long ? 0 : given(verb).length} run={() => void run(verb)} />
              <Button hint="Esc" onClick={() => setVerb(undefined)}>
                Back
              </Button>
            </div>
          </form>
        ) : sent ? (
          <Button ref={end} onClick={() => setSent(undefined)}>
            Go on
          </Button>
        ) : (
          <>
            <p className={css.says}>
              {chosen.length} chosen.{" "}
              <button
                type="button"
                className={css.all}
                onClick={() => setOut(new Set(chosen.length > 0 ? gates.map((g) => g.id) : []))}
              >
                {chosen.length > 0 ? "Choose none" : "Choose all"}
              </button>
              <LeftLine verb="approve" left={kept("approve")} />
              <LeftLine verb="reject" left={kept("reject")} />
              {left.length > 0 &&
                ` ${left.length} more of this name ${left.length === 1 ? "is" : "are"} left out, see below the table.`}
            </p>
            <div className={css.line}>
              <Button
                tone={hidden ? "plain" : "go"}
                icon={<Check size={16} strokeWidth={1.5} aria-hidden />}
                disabled={given("approve").length === 0}
                onClick={() => {
                  if (!hidden) return setVerb("approve");
                  if (folded > 0) showAll();
                  else cells.show();
                }}
              >
                {hidden ? "Show all first" : `Approve ${given("approve").length}`}
              </Button>
              <Button
                icon={<X size={16} strokeWidth={1.5} aria-hidden />}
                disabled={given("reject").length === 0}
                onClick={() => setVerb("reject")}
              >
                Reject {given("reject").length}
              </Button>
            </div>
          </>
        )}
      </footer>
    </article>
  );
}

function Send({ verb, n, run }: { verb: Verb; n: number; run: () => void }) {
  const ready = useReady();
  return (
    <Button tone={verb === "approve" ? "go" : "danger"} hint="Shift ⏎" disabled={!ready || n === 0} onClick={run}>
      {names[verb]} {n}
    </Button>
  );
}

const names: Record<Verb, string> = { approve: "Approve", reject: "Reject" };
const past: Record<Verb, string> = { approve: "approved", reject: "rejected" };

/** notes says of a question which verdict it does not take, if there is one. */
function notes(g: Gate, now: number): string {
  const [approve, reject] = [whyNot(g, "approve", now), whyNot(g, "reject", now)];
  if (approve === reject) return approve;
  return approve ? `no approve: ${approve}` : `no reject: ${reject}`;
}

/** became says what came of a set, with what was left out of it. */
function became({ verb, done, of, twice, refused, unheard, left }: Sent): string {
  const said = [`${done - refused - unheard} of ${of} ${past[verb]}: each row says what became of it.`];
  if (twice > 0) said.push(`${twice} not sent: ${elsewhere}. Look at ${twice === 1 ? "it" : "each"} by itself.`);
  if (unheard > 0) said.push(`${unheard} without an answer: look at each before you send it again.`);
  if (refused > 0) said.push(`${refused} refused.`);
  if (left.length > 0) said.push(`${left.length} left out (${reasons(left)}).`);
  return said.join(" ");
}

/** LeftLine says for how many of those chosen a verdict does not work, and why. */
function LeftLine({ left, verb }: { left: { why: string }[]; verb?: Verb }) {
  if (left.length === 0) return null;
  return (
    <>
      {" "}
      {verb ? `${names[verb]} does not work for` : "Left out:"} {left.length} (<Said>{reasons(left)}</Said>).
    </>
  );
}

/** LeftOut lists the questions of the name that cannot be decided with the others, and why. */
const LeftOut = ({ left, address }: { left: Left[]; address: (id: string) => string }) => (
  <section className={css.left} aria-label="left out">
    <h3>Left out: {left.length}, to be decided one by one</h3>
    <ul>
      {left.map(({ gate, why }) => (
        <li key={gate.id}>
          <Link href={address(gate.id)}>
            <Said>{gate.intent || gate.thread}</Said>
          </Link>{" "}
          <span className={css.quiet}>
            <Said>{why}</Said>
          </span>
        </li>
      ))}
    </ul>
  </section>
);
