// The rows that led to a checkpoint, as far as the newest of its thread go.

import { useQuery } from "@tanstack/react-query";
import { api, get, type Schemas } from "../api/client";
import type { Checkpoint } from "../data/checkpoints";
import { inThread } from "../thread/address";

type Row = Pick<Schemas["Row"], "id" | "parent" | "asked">;

/** A longer way is cut there. */
const most = 1000;

/** useRowsOf reads the newest rows of a checkpoint's thread, with what became of questions. */
export const useRowsOf = (at: Checkpoint) =>
  useQuery({
    queryKey: ["live", "way", "details", at.thread, at.generation],
    queryFn: ({ signal }) =>
      get(
        api.GET("/api/threads/{id}/outline", {
          signal,
          params: inThread(at.thread, { limit: most, generation: at.generation, details: true }),
        }),
      ).then((l) => l.items),
  });

/** editedOn returns the questions that people edited on the way from a checkpoint, with its own, to another. */
export function editedOn(rows: Row[], to: string, from: string | undefined): string[] {
  const by = new Map(rows.map((r) => [r.id, r]));
  const found: string[] = [];
  let at = by.get(to);
  while (at) {
    for (const w of at.asked ?? []) if (w.verdict === "edit") found.unshift(w.id);
    if (at.id === from) break;
    at = at.parent ? by.get(at.parent) : undefined;
  }
  return found;
}
