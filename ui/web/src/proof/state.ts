import type { Verification } from "../data/proof";

type State = Pick<Verification, "state" | "ok" | "thread">;

/** faulty returns the newest verification that found faults, unless a later one of the whole store found none. */
export function faulty<T extends State>(newestFirst: readonly T[]): T | undefined {
  const last = newestFirst.find((v) => v.state === "done" && (!v.ok || !v.thread));
  return last && !last.ok ? last : undefined;
}

/** walked says how many threads were verified: of how many only where that is counted to the end. */
export function walked(threads: number, all: number, exact: boolean): string {
  const n = threads.toLocaleString("en");
  return exact && all >= threads ? `${n} of ${all.toLocaleString("en")} threads` : `${n} threads so far`;
}
