// One thing done to many threads: in requests of some each, with what became of each thread.

import { api, get, Problem, type Schemas } from "../api/client";
import { newKey } from "../text/key";
import { paramsOf, type Filter } from "./filter";

export type Verb = "resume" | "cancel" | "release";
export type Item = Schemas["Item"];
export type Progress = { done: number; of: number; items: Item[]; ended: boolean; error?: unknown };

const atOnce = 20;
const planned = 500;
const maxCollected = 20_000;

const send = (verb: Verb, threads: string[], reason: string, dryRun: boolean) => {
  const options = {
    params: { header: { "Idempotency-Key": newKey() } },
    body: { threads, limit: threads.length, ...(reason ? { reason } : {}), ...(dryRun ? { dryRun } : {}) },
  };
  switch (verb) {
    case "resume":
      return () => get(api.POST("/api/bulk/resume", options));
    case "cancel":
      return () => get(api.POST("/api/bulk/cancel", options));
    case "release":
      return () => get(api.POST("/api/bulk/release", options));
  }
};

/** again sends a request once more if no answer came: under its key it is done once. */
async function again<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (!(error instanceof Problem) || error.body.status !== undefined) throw error;
    await new Promise((done) => setTimeout(done, 1000));
    return call();
  }
}

/**
 * run does something to threads, and says how far it is. It ends where the signal says so: what is done by
 * then stays done. With dry nothing is done, and the items say what would be.
 */
export async function run(
  verb: Verb,
  threads: string[],
  reason: string,
  dry: boolean,
  tell: (p: Progress) => void,
  signal: AbortSignal,
): Promise<void> {
  const items: Item[] = [];
  const step = dry ? planned : atOnce;
  const queue = [...threads];
  const told = (also: Partial<Progress>) =>
    tell({ done: items.length, of: threads.length, items: [...items], ended: false, ...also });
  told({});
  try {
    while (queue.length > 0 && !signal.aborted) {
      const some = queue.splice(0, step);
      const report = await again(send(verb, some, reason, dry));
      items.push(...report.items);
      // An answer that took too long has the threads that it came to.
      const came = new Set(report.items.map((i) => i.thread));
      if (came.size === 0) throw new Error("the server came to none of the threads");
      queue.unshift(...some.filter((t) => !came.has(t)));
      told({});
    }
    told({ ended: true });
  } catch (error) {
    told({ ended: true, error });
  }
}

/** collect reads the names and programs of all threads that a filter finds, 20,000 at most. */
export async function collect(
  filter: Filter,
  tell: (n: number) => void,
  signal: AbortSignal,
): Promise<{ names: string[]; graphs: Map<string, string>; more: boolean }> {
  const names: string[] = [];
  const graphs = new Map<string, string>();
  let cursor: string | undefined;
  do {
    const page = await get(
      api.GET("/api/threads", {
        signal,
        params: { query: { ...paramsOf(filter), limit: 1000, fields: "thread,graph", ...(cursor ? { cursor } : {}) } },
      }),
    );
    names.push(...page.items.map((t) => t.thread));
    for (const t of page.items) if (t.graph) graphs.set(t.thread, t.graph);
    tell(names.length);
    cursor = page.next;
  } while (cursor && names.length < maxCollected);
  return { names: [...new Set(names)], graphs, more: cursor !== undefined };
}
