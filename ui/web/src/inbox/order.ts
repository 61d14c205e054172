// What the inbox shows, in which order. Items that were decided stay where they were until the place
// is left, and what comes later stands below what was seen, so that nothing moves under the hand of a
// person.

import type { Gate } from "../api/client";
import { isUnknown } from "../gate/right";

export type Group = { name: string; gates: Gate[] };

/** A Rank is when a question was seen first: those of one rank are ordered by their deadlines. */
export type Rank = (id: string) => number;

/** placeOf orders the questions of a group: unknown outcomes, since money may be gone, sessions by their seconds, then the earliest deadline, then the oldest. */
const placeOf = (g: Gate, rank: Rank): [number, number, number, number, string] => [
  isUnknown(g) ? 0 : g.kind === "session" ? 1 : 2,
  rank(g.id),
  g.expiresAt ? Date.parse(g.expiresAt) : Infinity,
  g.createdAt ? Date.parse(g.createdAt) : 0,
  g.id,
];

function compare(a: Gate, b: Gate, rank: Rank): number {
  const [x, y] = [placeOf(a, rank), placeOf(b, rank)];
  const at = x.findIndex((v, i) => v !== y[i]);
  return at < 0 ? 0 : (x[at] as number) < (y[at] as number) ? -1 : 1;
}

/** grouped puts gates of one name together. Unknown outcomes are first, then the earliest deadline. */
export function grouped(gates: Gate[], ordered: boolean, rank: Rank = () => 0): Group[] {
  if (ordered) return gates.length ? [{ name: "", gates }] : [];
  const groups = new Map<string, Gate[]>();
  for (const g of gates) {
    const list = groups.get(g.name);
    if (list) list.push(g);
    else groups.set(g.name, [g]);
  }
  const by = (a: Gate, b: Gate) => compare(a, b, rank);
  const all = [...groups].map(([name, list]) => ({ name, gates: list.sort(by) }));
  return all.sort((a, b) => by(a.gates[0] as Gate, b.gates[0] as Gate));
}

/** Seen keeps what a place has shown, so that what is gone from the server's list stays as decided. */
export class Seen {
  private readonly gates = new Map<string, { gate: Gate; rank: number }>();
  private rank = 0;

  /** merge returns what is to be shown: the list, and what was seen before. gone has the latter's ids. */
  merge(list: Gate[]): { gates: Gate[]; gone: Set<string> } {
    const gone = new Set(this.gates.keys());
    const later = this.gates.size > 0 && list.some((g) => !this.gates.has(g.id));
    if (later) this.rank++;
    for (const g of list) {
      this.gates.set(g.id, { gate: g, rank: this.gates.get(g.id)?.rank ?? this.rank });
      gone.delete(g.id);
    }
    return { gates: [...this.gates.values()].map((s) => s.gate), gone };
  }

  rankOf: Rank = (id) => this.gates.get(id)?.rank ?? 0;

  /** settle puts all in the order of deadlines: for when the reader moves. It says whether something may move. */
  settle(): boolean {
    const moves = this.rank > 0;
    for (const s of this.gates.values()) s.rank = 0;
    this.rank = 0;
    return moves;
  }
}
