import { useEffect, useRef, useState } from "react";
import type { Gate } from "../api/client";
import { keep, typed } from "../data/typed";
import { absent } from "../form/blank";
import { useEdit } from "../form/edit";
import { fill, onRecord, type Node } from "../text/json";
import type { Verb } from "./decide";

/** Values that were typed are kept for each gate until the page is loaded again. */
const values = new Map<string, Node>();

export type Draft = ReturnType<typeof useDraft>;

/** A Check looks at what was typed into a form, shows what is wrong there, and returns it in words. */
export type Check = () => string | undefined;

const takesValue = (verb: Verb | undefined) => verb === "edit" || verb === "respond" || verb === "happened";

/** said is what a worker replied that does not fit: the result of "it was done" begins with it. */
function said(gate: Gate): Node | undefined {
  const reply = onRecord(gate.attempt?.said);
  return reply?.kind === "object" || reply?.kind === "array" ? reply : undefined;
}

/** useDraft is a decision that is not sent: its verb, reason, person and value. */
export function useDraft(gate: Gate) {
  const [verb, setVerb] = useState<Verb>();
  const [reason, setReason] = useState(typed(gate.id));
  const [to, setTo] = useState("");
  const schema = onRecord(gate.schema);
  const edit = useEdit(verb === "respond" || verb === "happened" ? schema : undefined);
  const check = useRef<Check>(undefined);
  const send = useRef<() => void>(undefined);
  const judge = useRef<() => string>(undefined);
  const key = `${gate.id} ${verb ?? ""}`;
  useEffect(() => {
    if (!takesValue(verb) || !edit.value) return;
    if (edit.changed()) values.set(key, edit.value);
    else values.delete(key);
  }, [key, edit.value]);
  const begin = (next: Verb) =>
    edit.begin(
      fill(next === "edit" ? onRecord(gate.payload) : next === "happened" ? said(gate) : undefined, schema) ??
        (next === "edit" ? { kind: "text", source: "null" } : absent),
      values.get(`${gate.id} ${next}`),
      next === "respond" || next === "happened" ? schema : undefined,
    );
  return {
    verb,
    reason,
    to,
    edit,
    /** check is set by the form of a value while it is shown: without it nothing may be sent. */
    check,
    /** send is what Shift-Enter does, also in the form. */
    send,
    /** judge says why the person cannot be named. It is set by their field. */
    judge,
    open(next: Verb | undefined) {
      setVerb(next);
      edit.close();
      if (next && takesValue(next)) begin(next);
    },
    /** again begins with what was asked, and forgets what was typed. */
    again() {
      if (!verb) return;
      values.delete(key);
      begin(verb);
    },
    setReason(text: string) {
      keep(gate.id, text);
      setReason(text);
    },
    setTo,
  };
}
