import type { Gate } from "../api/client";

export type Choice = { name: string; at?: Date };

/** choices are when a question may come back: all before its deadline, which no snooze moves. */
export function choices(gate: Pick<Gate, "expiresAt" | "remind" | "escalation">, now: Date): Choice[] {
  const at = (days: number, hour: number) =>
    new Date(now.getFullYear(), now.getMonth(), now.getDate() + days, hour, 0, 0);
  const monday = ((8 - now.getDay()) % 7 || 7) as number;
  const all: Choice[] = [
    { name: "1 hour", at: new Date(now.getTime() + 3_600_000) },
    { name: "4 hours", at: new Date(now.getTime() + 4 * 3_600_000) },
    { name: "tomorrow at 9", at: at(1, 9) },
    ...(monday > 1 ? [{ name: "Monday at 9", at: at(monday, 9) }] : []),
  ].filter((c) => !gate.expiresAt || c.at.getTime() < Date.parse(gate.expiresAt));
  const reminded = (gate.remind ?? []).some((r) => Date.parse(r) > now.getTime());
  return reminded || gate.escalation ? [...all, { name: "its reminder" }] : all;
}
