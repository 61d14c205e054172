import type { Schemas } from "../api/client";
import { Chip } from "../parts/chip";
import { standing } from "../threads/filter";
import css from "./header.module.css";

type Thread = Pick<Schemas["Thread"], "status" | "branches" | "releases">;

/** standings are how a branch stands and, if that is another status, how its thread does. */
export function standings(thread: Thread, branch: string): { shown: string; whole?: string } {
  const whole = standing(thread);
  const found = thread.branches?.find((b) => b.branch === branch);
  const shown = found ? found.status || "saved" : whole;
  return whole && whole !== shown ? { shown, whole } : { shown };
}

/** Standing says how the branch that is shown stands. The status of its thread is said beside it if it is another. */
export function Standing({ thread, branch }: { thread: Thread; branch: string }) {
  const { shown, whole } = standings(thread, branch);
  if (!shown) return null;
  return (
    <>
      <Chip state={shown} />
      {whole && (
        <span className={css.whole}>
          {" "}
          thread <Chip state={whole} />
        </span>
      )}
    </>
  );
}
