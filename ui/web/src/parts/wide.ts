import { useMemo, useSyncExternalStore } from "react";

/** useWidth says whether the window has so many pixels, or more. */
export function useWidth(pixels: number) {
  const query = useMemo(() => matchMedia(`(min-width: ${pixels}px)`), [pixels]);
  return useSyncExternalStore(
    (l) => {
      query.addEventListener("change", l);
      return () => query.removeEventListener("change", l);
    },
    () => query.matches,
  );
}

/** useWide says whether the window has room for panes and columns beside each other. */
export const useWide = () => useWidth(900);
