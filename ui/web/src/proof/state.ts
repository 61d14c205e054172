type Since = { threads: number; new: number; entries: number; more?: boolean };

/** afterwards says what came after a verification, and is empty where nothing did. */
export function afterwards({ threads, new: fresh, entries, more }: Since): string {
  if (threads === 0) return more ? "what came since is not counted" : "";
  const n = (of: number, one: string, many: string) =>
    `${of.toLocaleString("en")}${more ? " or more" : ""} ${of === 1 && !more ? one : many}`;
  const of = `${n(entries, "entry", "entries")} since, in ${n(threads, "thread", "threads")}`;
  return `${of}${fresh > 0 ? `, ${fresh.toLocaleString("en")} of them new` : ""}: not verified`;
}

/** walked says how many threads were verified: of how many only where that is counted to the end. */
export function walked(threads: number, all: number, exact: boolean): string {
  const n = threads.toLocaleString("en");
  return exact && all >= threads ? `${n} of ${all.toLocaleString("en")} threads` : `${n} threads so far`;
}
