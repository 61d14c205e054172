// Which questions can be decided together.

import type { Gate } from "../api/client";
import { outcomeOf } from "../gate/decide";

/** setKey says which gates can be decided together: those of one question and one shape. */
const setKey = (g: Gate) => JSON.stringify([g.name, g.schema, g.binding.map((f) => f.name)]);

/** setOf returns those of a group that can be decided together, if there are at least two. */
export function setOf(gates: Gate[]): Gate[] {
  const may = gates.filter((g) => g.may.includes("approve") && !g.error && g.kind !== "session" && !outcomeOf(g.id));
  const first = may[0];
  const same = first ? may.filter((g) => setKey(g) === setKey(first)) : [];
  return same.length > 1 ? same : [];
}
