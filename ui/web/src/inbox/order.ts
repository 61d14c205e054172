// What the inbox shows, in which order. Items that were decided stay where they were until the place
// is left, so that nothing moves under the hand of a person.

import type { Gate } from "../api/client";

export type Group = { name: string; gates: Gate[] };

/** key orders the questions of a group: sessions by their seconds, then the earliest deadline, then the oldest. */
const key = (g: Gate) => `${g.expiresAt ?? "~"} ${g.createdAt ?? ""} ${g.id}`;

/** grouped puts gates of one name together. The group with the earliest deadline is first. */
export function grouped(gates: Gate[], ordered: boolean): Group[] {
  if (ordered) return gates.length ? [{ name: "", gates }] : [];
  const groups = new Map<string, Gate[]>();
  for (const g of gates) {
    const list = groups.get(g.name);
    if (list) list.push(g);
    else groups.set(g.name, [g]);
  }
  const all = [...groups].map(([name, list]) => ({ name, gates: list.sort((a, b) => (key(a) < key(b) ? -1 : 1)) }));
  return all.sort((a, b) => (key(a.gates[0] as Gate) < key(b.gates[0] as Gate) ? -1 : 1));
}

/** Seen keeps what a place has shown, so that what is gone from the server's list stays as decided. */
export class Seen {
  private readonly gates = new Map<string, Gate>();

  /** merge returns what is to be shown: the list, and what was seen before. gone has the latter's ids. */
  merge(list: Gate[]): { gates: Gate[]; gone: Set<string> } {
    const gone = new Set(this.gates.keys());
    for (const g of list) {
      this.gates.set(g.id, g);
      gone.delete(g.id);
    }
    return { gates: [...this.gates.values()], gone };
  }

  drop(id: string) {
    this.gates.delete(id);
  }
}
