type Sum = {
  calls: number;
  inputTokens: number;
  outputTokens: number;
  costs: { amount: string; unit: string }[];
  unread?: number | undefined;
};

/** tokens are those that were read and written. */
export const tokens = (s: Sum) => `${(s.inputTokens + s.outputTokens).toLocaleString("en")} tokens`;

/** spent says the costs of a sum, as exact texts, and its tokens. */
export function spent(s: Sum): string {
  const costs = s.costs.map((c) => `${c.amount} ${c.unit}`.trim());
  if (s.unread) costs.push(`${s.unread} ${s.unread === 1 ? "cost" : "costs"} that cannot be added`);
  return [...costs, tokens(s)].join(", ");
}
