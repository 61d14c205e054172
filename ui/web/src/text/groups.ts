export type Group<T> = { key: string; items: T[] };

/** groups puts together what has the same key, the largest group first. */
export function groups<T>(items: readonly T[], key: (item: T) => string): Group<T>[] {
  const by = new Map<string, T[]>();
  for (const item of items) {
    const k = key(item);
    const has = by.get(k);
    if (has) has.push(item);
    else by.set(k, [item]);
  }
  return [...by].map(([k, of]) => ({ key: k, items: of })).sort((a, b) => b.items.length - a.items.length);
}
