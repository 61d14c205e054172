import { TriangleAlert } from "lucide-react";
import { useContext, useEffect, useRef, useState, type KeyboardEvent, type ReactNode } from "react";
import type { Gate } from "../api/client";
import { Button } from "../parts/button";
import { later } from "../parts/later";
import { Hidden, Said } from "../parts/said";
import { inline, member, type Node } from "../text/json";
import { send, Sending, type Verb } from "./decide";
import type { Draft } from "./draft";
import { useReady } from "./ready";
import { tooLong } from "./reason";
import { wordOf } from "./right";
import css from "./actions.module.css";

const ChoosePerson = later(async () => (await import("../parts/choose-person")).ChoosePerson);
const Again = later(async () => (await import("./duplicates")).Again);

const Last = later(async () => (await import("./last")).Last);

const most = 3;

/** Confirm says what will be sent, takes a reason, and sends it. */
export function Confirm({ gate, draft, icon, verb }: { gate: Gate; draft: Draft; icon: ReactNode; verb: Verb }) {
  const ready = useReady();
  const by = useContext(Sending);
  const [lacks, setLacks] = useState("");
  const first = useRef<HTMLInputElement>(null);
  const word = wordOf(gate, verb);
  const long = tooLong(draft.reason);
  const values = verb === "edit" || verb === "respond" || verb === "happened";
  // Where a value is needed, its form has the focus.
  useEffect(() => {
    if (!values) first.current?.focus();
  }, [values]);
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    // Where there is little room, what is decided is in sight.
    if (values || innerHeight > 500) return;
    form.current?.closest("article, #root")?.querySelector("[aria-label='what is asked']")?.scrollIntoView();
  }, [values]);
  const faults = (): string => {
    if (long) return long;
    if (verb === "delegate") return draft.judge.current?.() ?? "The names are not there yet.";
    if (!values) return "";
    if (!draft.check.current) return "The form is not there yet.";
    return (draft.edit.raw !== undefined && draft.edit.invalid()) || draft.check.current() || draft.edit.invalid();
  };
  const submit = () => {
    const found = faults();
    setLacks(found);
    if (found) return;
    // The draft stays open: what the server refuses can be mended and sent again.
    void send(
      gate,
      {
        verb,
        reason: draft.reason,
        to: draft.to.trim(),
        value: values ? draft.edit.given() : undefined,
      },
      by,
    );
  };
  draft.send.current = submit;
  useEffect(() => setLacks(""), [draft.edit.value, draft.to]);
  const press = (e: KeyboardEvent) => {
    if (e.key === "Escape") draft.open(undefined);
    else if (e.key === "Enter" && e.shiftKey) submit();
    else return;
    e.preventDefault();
  };
  const approves = verb === "approve";
  const look = approves ? css.go : verb === "reject" || verb === "redo" ? css.no : "";
  return (
    <form
      ref={form}
      className={css.confirm}
      onKeyDown={press}
      onSubmit={(e) => e.preventDefault()}
      aria-label={`${word.name}: confirm`}
    >
      <p className={`${css.what} ${look}`}>
        {icon}
        <strong>{verb === "edit" ? "Approve with changes" : word.name}</strong>
        <span className={css.intent}>{verb === "edit" ? <Changed draft={draft} /> : <Said>{gate.intent}</Said>}</span>
      </p>
      {word.risk && (
        <p className={verb === "approve" || verb === "redo" ? `${css.risk} ${css.no}` : css.risk} role="note">
          <TriangleAlert size={14} strokeWidth={1.5} aria-hidden /> {word.risk}
        </p>
      )}
      {(verb === "approve" || verb === "edit") && gate.duplicates && (
        <p className={`${css.risk} ${css.no}`} role="note">
          <TriangleAlert size={14} strokeWidth={1.5} aria-hidden />
          <span>
            <Again of={gate.duplicates} />
          </span>
        </p>
      )}
      {gate.expiresAt && <Last at={gate.expiresAt} />}
      <Hidden texts={[draft.reason, draft.to]} />
      {(long || lacks) && (
        <p className={css.no} role="alert">
          <Said>{long || lacks}</Said>
        </p>
      )}
      <div className={css.line}>
        {verb === "delegate" && (
          <ChoosePerson
            label="to"
            placeholder="to whom"
            gate={gate.id}
            value={draft.to}
            set={draft.setTo}
            judge={draft.judge}
            risk="If there is no such person, nobody decides in your place until you take it back."
            up
            focus
          />
        )}
        <input
          ref={verb === "delegate" ? undefined : first}
          className={css.reason}
          aria-label="reason"
          placeholder="reason, on record"
          autoComplete="off"
          value={draft.reason}
          onChange={(e) => draft.setReason(e.target.value)}
        />
        <Button
          tone={approves ? "go" : verb === "reject" || verb === "redo" ? "danger" : "plain"}
          hint="Shift ⏎"
          disabled={!ready}
          onClick={submit}
          className={`${css.wide} ${css.send}`}
        >
          {verb === "edit" ? "Approve as edited" : word.name}
        </Button>
        <Button hint="Esc" disabled={!ready} onClick={() => draft.open(undefined)} className={css.back}>
          Back
        </Button>
      </div>
    </form>
  );
}

/** Changed says in one line what an edit changes. */
function Changed({ draft }: { draft: Draft }) {
  const { start, given } = draft.edit;
  const now = given();
  const names = (n: Node | undefined) => (n?.kind === "object" ? n.members.map((m) => m.name) : []);
  const text = (n: Node | undefined) => (n ? inline(n) : "nothing");
  if (!draft.edit.changed()) return "nothing is changed yet";
  if (start?.kind !== "object" || now?.kind !== "object") return <Said>{`${text(start)} → ${text(now)}`}</Said>;
  const all = [...new Set([...names(start), ...names(now)])];
  const changed = all.filter((n) => text(member(start, n)) !== text(member(now, n)));
  const shown = changed.slice(0, most).map((n) => `${n} ${text(member(start, n))} → ${text(member(now, n))}`);
  const more = changed.length > most ? `, and ${changed.length - most} more` : "";
  return <Said>{shown.join(", ") + more}</Said>;
}
