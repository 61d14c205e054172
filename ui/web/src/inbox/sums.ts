// The sums below questions that are decided together.

import { sumOf } from "../text/decimal";

/** What an amount is in: amounts in two of them have no sum. */
const measure = /currency|unit/i;

/** sumsOf adds the amounts of each column of rows, exactly. A column without amounts has no sum, see [sumOf]. */
export function sumsOf(columns: string[], rows: string[][]): (string | undefined)[] {
  const column = (i: number) => rows.map((r) => r[i] ?? "");
  const mixed = columns.some((name, i) => measure.test(name) && new Set(column(i)).size > 1);
  return columns.map((_, i) => (mixed ? undefined : sumOf(column(i))));
}
