import { createContext, useCallback, useContext, useEffect, useMemo, useState, type ReactNode } from "react";
import css from "./fold.module.css";

type Scope = { all: boolean; closed: (by: 1 | -1) => void };

const FoldScope = createContext<Scope>({ all: false, closed: () => {} });

/** useFolds counts what is folded inside of a [Folds], and opens all of it. */
export function useFolds() {
  const [folded, setFolded] = useState(0);
  const [all, setAll] = useState(false);
  const closed = useCallback((by: 1 | -1) => setFolded((n) => n + by), []);
  const scope = useMemo(() => ({ all, closed }), [all, closed]);
  return { folded, showAll: () => setAll(true), scope };
}

/** Folds is where [useFolds] counts. */
export const Folds = ({ scope, children }: { scope: Scope; children: ReactNode }) => (
  <FoldScope.Provider value={scope}>{children}</FoldScope.Provider>
);

/** Fold shows the first of something, and all of it after a click. What it folds is said with its size. */
export function Fold({ first, rest, size }: { first: ReactNode; rest: () => ReactNode; size: string }) {
  const { all, closed } = useContext(FoldScope);
  const [mine, setMine] = useState(false);
  const open = all || mine;
  useEffect(() => {
    if (open) return;
    closed(1);
    return () => closed(-1);
  }, [open, closed]);
  if (open) return rest();
  return (
    <>
      {first}
      <button type="button" className={css.more} onClick={() => setMine(true)}>
        show all {size}
      </button>
    </>
  );
}
