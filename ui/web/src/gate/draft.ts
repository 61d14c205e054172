import { useState } from "react";
import type { Gate } from "../api/client";
import { compact, fill, keep, onRecord, pretty, read, type Node } from "../text/json";
import type { Verb } from "./decide";

/** Typed reasons are kept for each gate, while this tab lives. */
const reasons = new Map<string, string>();

export type Draft = ReturnType<typeof useDraft>;

/** useDraft is a decision that is not sent: its verb, reason, person and value. */
export function useDraft(gate: Gate) {
  const [verb, setVerb] = useState<Verb>();
  const [reason, setReason] = useState(reasons.get(gate.id) ?? "");
  const [to, setTo] = useState("");
  const [value, setValue] = useState<Node>();
  const [start, setStart] = useState<Node>();
  const [raw, setRaw] = useState<string>();
  return {
    verb,
    reason,
    to,
    value,
    start,
    raw,
    open(next: Verb | undefined) {
      setVerb(next);
      setRaw(undefined);
      if (next !== "edit" && next !== "respond") return;
      const schema = onRecord(gate.schema);
      const first = fill(next === "edit" ? onRecord(gate.payload) : undefined, schema) ?? {
        kind: "text" as const,
        source: next === "edit" ? "null" : '""',
      };
      setStart(first);
      setValue(first);
    },
    setReason(text: string) {
      reasons.set(gate.id, text);
      setReason(text);
    },
    setTo,
    setValue,
    /** type takes raw JSON. What says the same as before keeps its text on record. */
    type(text: string) {
      setRaw(text);
      try {
        setValue(keep(read(text), start));
      } catch {
        // invalid says so
      }
    },
    showRaw: (on: boolean) => setRaw(on && value ? pretty(value) : undefined),
    invalid: () => invalid(raw, value),
    changed: () => value !== undefined && start !== undefined && compact(value) !== compact(start),
  };
}

function invalid(raw: string | undefined, value: Node | undefined): string {
  try {
    if (raw !== undefined) read(raw);
    else if (value) JSON.parse(compact(value));
  } catch (error) {
    return raw !== undefined ? `This is not JSON: ${(error as Error).message}` : "A number is not complete.";
  }
  return "";
}
