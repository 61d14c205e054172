import type { Gate } from "../api/client";
import { useMe } from "../data/me";
import { Said } from "../parts/said";
import css from "./actions.module.css";

/** Barred says why the person decides nothing here: they voted already, or are not asked. */
export function Barred({ gate }: { gate: Gate }) {
  const me = useMe().data?.name;
  const votes = gate.votes ?? [];
  const mine = votes.find((v) => v.by === me);
  const missing = (gate.quorum?.need ?? 0) - votes.filter((v) => v.verdict === "approve").length;
  if (mine)
    return (
      <p className={css.barred}>
        You voted: {mine.verdict}. {missing === 1 ? "1 more approval is" : `${missing} more approvals are`} needed, by
        somebody else.
      </p>
    );
  return (
    <p className={css.barred}>
      You cannot decide this: <Said>{gate.barred ?? "you are not asked"}</Said>
    </p>
  );
}
