// The rows of a list that is read by page while its threads move. The first page is read again with each
// event, later pages begin where they began: a thread with a new entry leaves them for the first.

export type Row = { thread: string; updatedAt: string };

export type Page<T extends Row> = { items: T[]; next?: string | undefined };

/** Listing is what was read so far. */
export type Listing<T extends Row> = {
  head: Page<T>;
  /** pushed is what newer threads pushed out of the first page, newest first. */
  pushed: T[];
  /** from is where the second page begins, as the first page said at first. */
  from: string | undefined;
  rest: Page<T>[];
};

export const begin = <T extends Row>(head: Page<T>): Listing<T> => ({ head, pushed: [], from: head.next, rest: [] });

/** renew takes the first page as it is now. A thread that is newer than its last row and not in it left the list. */
export function renew<T extends Row>(was: Listing<T>, head: Page<T>): Listing<T> {
  if (was.head === head) return was;
  const last = head.items.at(-1);
  if (!head.next || !last) return { ...was, head, pushed: [], from: was.rest.length ? was.from : head.next };
  if (was.rest.length === 0 && was.pushed.length === 0) return begin(head);
  const here = new Set(head.items.map((t) => t.thread));
  const pushed = [...was.head.items, ...was.pushed].filter(
    (t) => !here.has(t.thread) && Date.parse(t.updatedAt) <= Date.parse(last.updatedAt),
  );
  return { ...was, head, pushed };
}

/** cursorOf returns where a page of the rest begins. */
export const cursorOf = <T extends Row>(was: Listing<T>, i: number) => (i === 0 ? was.from : was.rest[i - 1]?.next);

/** put takes a page of the rest, the next one or one that is read again. */
export function put<T extends Row>(was: Listing<T>, i: number, page: Page<T>): Listing<T> {
  const old = was.rest[i];
  if (old === page || i > was.rest.length) return was;
  // Where the page after it begins stays, so that it fits.
  const fitting = old && i + 1 < was.rest.length ? { ...page, next: old.next } : page;
  return { ...was, rest: was.rest.map((p, j) => (j === i ? fitting : p)).concat(old ? [] : [page]) };
}

/** rowsOf returns the rows, each thread once, where it moved to. of says in which page of the rest a row is, -1 for none. */
export function rowsOf<T extends Row>(was: Listing<T>): { rows: T[]; of: number[] } {
  const seen = new Set<string>();
  const rows: T[] = [];
  const of: number[] = [];
  const add = (items: T[], page: number) => {
    for (const t of items) {
      if (seen.has(t.thread)) continue;
      seen.add(t.thread);
      rows.push(t);
      of.push(page);
    }
  };
  add(was.head.items, -1);
  add(was.pushed, -1);
  was.rest.forEach((p, i) => add(p.items, i));
  return { rows, of };
}

/** nextOf returns where the list goes on after what was read, undefined at its end. */
export const nextOf = <T extends Row>(was: Listing<T>) => (was.rest.length ? was.rest.at(-1)?.next : was.from);
