import { useEffect, useRef, useSyncExternalStore } from "react";

export type Command = { name: string; run: () => void };

type Shown = readonly { current: Command[] }[];

let shown: Shown = [];
const listeners = new Set<() => void>();

function show(next: Shown) {
  shown = next;
  for (const l of listeners) l();
}

/** useCommandsNow returns what the screen that is shown can do. */
export const useCommandsNow = (): Command[] =>
  useSyncExternalStore(
    (l) => {
      listeners.add(l);
      return () => listeners.delete(l);
    },
    () => shown,
  ).flatMap((of) => of.current);

/** useCommands puts what a screen can do into the palette while the screen is shown. */
export function useCommands(commands: Command[]) {
  const now = useRef(commands);
  now.current = commands;
  useEffect(() => {
    show([...shown, now]);
    return () => show(shown.filter((of) => of !== now));
  }, []);
}
