// When a branch ended: by the entry that ended it, not by a later one of the thread.

import type { Schemas } from "../api/client";

type Thread = Pick<Schemas["Thread"], "status" | "branches">;
type Header = Pick<Schemas["Checkpoint"], "kind" | "parentId" | "status" | "createdAt">;

const over = new Set<string | undefined>(["done", "failed", "cancelled"]);

/** isOver says whether a status is an end: a branch that was interrupted has none. */
export const isOver = (status: string | undefined) => over.has(status);

/** overOf returns the branch whose end is told: the one that is looked at, else the one that the thread's status is of. */
export function overOf(thread: Thread, branch: string) {
  const branches = thread.branches ?? [];
  const shown = branches.find((b) => b.branch === branch);
  if (isOver(shown?.status)) return shown;
  return isOver(thread.status) ? branches[0] : undefined;
}

/**
 * endingOf returns when the branch of a head ended. A fork that was made of an end, and did not run, ended
 * where its source did. It is null where no checkpoint of the thread ended it.
 */
export async function endingOf(head: string, read: (id: string) => Promise<Header>): Promise<string | null> {
  let at = await read(head);
  while (at.kind === "fork" && at.parentId) at = await read(at.parentId);
  return at.kind !== "fork" && isOver(at.status) ? at.createdAt : null;
}
