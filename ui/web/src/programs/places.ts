// Where threads of a program are: a node with how many of each status are at it.

import type { Schemas } from "../api/client";
import { statuses, type Status } from "../threads/filter";

export type Place = {
  node: string;
  /** threads counts each thread once; of one that has branches of two statuses here, both are in by. */
  threads: number;
  by: { status: Status; count: number }[];
  /** colour is the status that the node is drawn as; without one it is neutral. */
  colour: Status | undefined;
};

/** needs are the statuses in which somebody may have to do something. */
const needs: Status[] = ["waiting", "failed", "interrupted"];

/** placesOf reads what the server counted. */
export const placesOf = (nodes: Schemas["NodeCount"][]): Place[] =>
  nodes.map((n) => {
    const by = statuses.flatMap((status) => {
      const count = Number(n.statuses[status] ?? 0);
      return count > 0 ? [{ status, count }] : [];
    });
    return { node: n.node, threads: n.threads, by, colour: colourOf(by) };
  });

/**
 * colourOf is what most threads that need somebody are. Where none does, it is what all are. One failed
 * thread beside five questions does not make a node red: its count says that it is there.
 */
export function colourOf(by: Place["by"]): Status | undefined {
  const asks = by.filter((b) => needs.includes(b.status));
  const [first, ...others] = asks.length > 0 ? asks : by;
  if (!first || (asks.length === 0 && others.length > 0)) return undefined;
  return others.reduce((most, b) => (b.count > most.count ? b : most), first).status;
}
