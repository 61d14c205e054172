import { Skeleton } from "../parts/notice";
import { Lists } from "./lists";
import { usePlan } from "./plan";

/** Ahead says what a run from a checkpoint on would keep, run again, ask and do, before anything is made. */
export function Ahead({ at, branch }: { at: string; branch: string }) {
  const plan = usePlan(at, {});
  if (plan.data) return <Lists plan={plan.data} branch={branch} />;
  return plan.error ? null : <Skeleton rows={3} height={32} />; // the request itself is refused with the same error
}
