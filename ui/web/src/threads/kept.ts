// What a person keeps in this browser: columns and views.

import { useSyncExternalStore } from "react";

export type View = { name: string; search: string };

const listeners = new Set<() => void>();
const cache = new Map<string, { text: string | null; value: unknown }>();

/** read returns what is kept under a name, and the default where that is nothing or not understood. */
function read<T>(name: string, fits: (value: unknown) => value is T, none: T): T {
  const text = localStorage.getItem(name);
  const had = cache.get(name);
  if (had && had.text === text) return had.value as T;
  let value = none;
  try {
    const parsed: unknown = text === null ? none : JSON.parse(text);
    if (fits(parsed)) value = parsed;
  } catch {
    // somebody else wrote it
  }
  cache.set(name, { text, value });
  return value;
}

function useKept<T>(name: string, fits: (value: unknown) => value is T, none: T) {
  const value = useSyncExternalStore(
    (l) => {
      listeners.add(l);
      addEventListener("storage", l); // another tab
      return () => {
        listeners.delete(l);
        removeEventListener("storage", l);
      };
    },
    () => read(name, fits, none),
  );
  const set = (next: T) => {
    localStorage.setItem(name, JSON.stringify(next));
    for (const l of listeners) l();
  };
  return [value, set] as const;
}

const areTexts = (v: unknown): v is string[] => Array.isArray(v) && v.every((x) => typeof x === "string");

const isView = (v: unknown): v is View =>
  typeof v === "object" &&
  v !== null &&
  "name" in v &&
  "search" in v &&
  typeof v.name === "string" &&
  typeof v.search === "string";

const areViews = (v: unknown): v is View[] => Array.isArray(v) && v.every(isView);

const noViews: View[] = [];

export const useColumns = (usual: string[]) => useKept("threads.columns", areTexts, usual);
export const useViews = () => useKept("threads.views", areViews, noViews);
