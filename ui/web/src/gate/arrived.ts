import { api, get, type Gate } from "../api/client";
import type { Draft, Outcome } from "./decide";
import { onRecordOf } from "./recorded";

/** arrived looks whether a decision is on record although its answer was lost. It returns nothing where that is not known. */
export async function arrived(gate: Gate, d: Draft): Promise<Outcome | undefined> {
  try {
    const [me, now] = await Promise.all([
      get(api.GET("/api/me")),
      get(api.GET("/api/gates/{id}", { params: { path: { id: gate.id } } })),
    ]);
    return onRecordOf(now, d, me.name);
  } catch {
    return undefined;
  }
}
