import type { Schemas } from "../api/client";

type State = Pick<Schemas["Verification"], "state" | "ok" | "thread">;

/** faulty returns the newest verification that found faults, unless a later one of the whole store found none. */
export function faulty<T extends State>(newestFirst: readonly T[]) {
  const last = newestFirst.find((v) => v.state === "done" && (!v.ok || !v.thread));
  return last && !last.ok ? last : undefined;
}
