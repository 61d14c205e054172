// Which of the chosen threads are of programs that this server does not serve.

import { missing } from "../programs/missing";
import { groups } from "../text/groups";

/** Graphs has the program of a thread by its name, for those that were read. */
export type Graphs = ReadonlyMap<string, string>;

/** unserved counts threads by the program they need and that is not served. A thread without a known program is left out. */
export const unserved = (threads: readonly string[], graphs: Graphs, served: { name: string }[]) =>
  groups(
    threads.map((t) => missing({ graph: graphs.get(t) }, served)).filter((p) => p !== ""),
    (p) => p,
  ).map((g) => ({ program: g.key, count: g.items.length }));

/** reasonOf is why nothing was done to a thread, with the thread's name left out: equal reasons are one. */
export const reasonOf = (thread: string, detail: string) => detail.replaceAll(thread, "…");

/** asksNumber says whether the number of threads is typed before they are resumed. */
export const asksNumber = (verb: string, n: number) => verb !== "resume" || n > 10;
