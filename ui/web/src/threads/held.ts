// Rows that stay where they are while somebody points at them or has chosen some.

import { useCallback, useEffect, useMemo, useRef, useState } from "react";

type Row = { thread: string };

/**
 * heldRows keeps the order of the rows as they were, each as it is now. Rows after the last of them follow;
 * fresh counts the others, which wait, and gone those that the list has no more.
 */
export function heldRows<T extends Row>(
  was: readonly T[],
  now: readonly T[],
): { rows: T[]; fresh: number; gone: number } {
  const by = new Map(now.map((t) => [t.thread, t]));
  const here = new Set(was.map((t) => t.thread));
  const last = now.findLastIndex((t) => here.has(t.thread));
  const fresh = now.slice(0, last + 1).filter((t) => !here.has(t.thread)).length;
  const after = last < 0 ? [] : now.slice(last + 1);
  return {
    rows: [...was.map((t) => by.get(t.thread) ?? t), ...after],
    fresh: last < 0 ? now.length : fresh,
    gone: was.filter((t) => !by.has(t.thread)).length,
  };
}

/** useHeld returns the rows to show, how many came and went while they are held, and what shows the list as it is. */
export function useHeld<T extends Row>(
  now: T[],
  hold: boolean,
): { rows: T[]; fresh: number; gone: number; take: () => void } {
  const shown = useRef<T[]>(now);
  const [taken, setTaken] = useState(0);
  const held = useMemo(
    () => (hold && shown.current.length > 0 ? heldRows(shown.current, now) : { rows: now, fresh: 0, gone: 0 }),
    [now, hold, taken],
  );
  useEffect(() => {
    shown.current = held.rows;
  }, [held]);
  const take = useCallback(() => {
    shown.current = [];
    setTaken((n) => n + 1);
  }, []);
  return { ...held, take };
}
