import { createContext, useCallback, useContext, useEffect, useMemo, useRef, useState, type ReactNode } from "react";
import css from "./fold.module.css";

type Scope = { all: boolean; closed: (by: 1 | -1) => void };

const FoldScope = createContext<Scope>({ all: false, closed: () => {} });

/**
 * useFolds counts what is folded inside of a [Folds], and opens all of it. What was opened counts as folded until
 * the end of it, where that is marked, was on the screen.
 */
export function useFolds() {
  const [folded, setFolded] = useState(0);
  const [all, setAll] = useState(false);
  const [seen, setSeen] = useState(false);
  const end = useRef<HTMLDivElement>(null);
  const closed = useCallback((by: 1 | -1) => setFolded((n) => n + by), []);
  const scope = useMemo(() => ({ all, closed }), [all, closed]);
  useEffect(() => {
    if (!all || !end.current) return;
    const watch = new IntersectionObserver((e) => e.some((x) => x.isIntersecting) && setSeen(true));
    watch.observe(end.current);
    return () => watch.disconnect();
  }, [all]);
  const showAll = () => {
    if (all) end.current?.scrollIntoView({ block: "end" });
    setAll(true);
  };
  return { folded: folded > 0 ? folded : all && !seen && end.current ? 1 : 0, showAll, scope, end };
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
