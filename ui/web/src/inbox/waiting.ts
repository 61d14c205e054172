import type { Gate } from "../api/client";
import { outcomeOf } from "../gate/decide";

/**
 * waitingOf are those of some questions that nobody decided yet, as far as this page knows. Those whose decision was
 * refused wait still.
 */
export const waitingOf = (gates: Gate[], gone: Set<string>) =>
  gates.filter((g) => !gone.has(g.id) && (outcomeOf(g.id)?.step ?? "refused") === "refused");
