// What the inbox is narrowed to, as its address says it.

import type { Narrowed } from "../data/gates";

export type Filter = Narrowed;

export const names = ["question", "program", "thread", "requester", "label", "assigned", "decider", "q"] as const;

/** filterOf reads an address. */
export function filterOf(query: URLSearchParams): Filter {
  const filter: Filter = {};
  for (const name of names) {
    const text = query.get(name);
    if (text) filter[name] = text;
  }
  return filter;
}
