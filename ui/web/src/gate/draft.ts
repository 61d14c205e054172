import { useState } from "react";
import type { Gate } from "../api/client";
import { useEdit } from "../form/edit";
import { fill, onRecord } from "../text/json";
import type { Verb } from "./decide";

/** Typed reasons are kept for each gate, while this tab lives. */
const reasons = new Map<string, string>();

export type Draft = ReturnType<typeof useDraft>;

/** useDraft is a decision that is not sent: its verb, reason, person and value. */
export function useDraft(gate: Gate) {
  const [verb, setVerb] = useState<Verb>();
  const [reason, setReason] = useState(reasons.get(gate.id) ?? "");
  const [to, setTo] = useState("");
  const edit = useEdit();
  return {
    verb,
    reason,
    to,
    edit,
    open(next: Verb | undefined) {
      setVerb(next);
      edit.close();
      if (next !== "edit" && next !== "respond") return;
      const schema = onRecord(gate.schema);
      edit.begin(
        fill(next === "edit" ? onRecord(gate.payload) : undefined, schema) ?? {
          kind: "text",
          source: next === "edit" ? "null" : '""',
        },
      );
    },
    setReason(text: string) {
      reasons.set(gate.id, text);
      setReason(text);
    },
    setTo,
  };
}
