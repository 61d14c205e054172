import { createContext, useCallback, useContext, useEffect, useMemo, useRef, useState, type ReactNode } from "react";
import css from "./fold.module.css";

type Scope = { all: boolean; flat: boolean; closed: (by: 1 | -1) => void };

const FoldScope = createContext<Scope>({ all: false, flat: false, closed: () => {} });

/** useFlat says whether values have to stand below each other, since their nesting was cut off. */
export const useFlat = () => useContext(FoldScope).flat;

/** cutIn says whether a value in a box is beyond its edge, or wraps in less than 160 pixels. */
function cutIn(box: HTMLElement): boolean {
  const edge = box.getBoundingClientRect();
  return [...box.querySelectorAll("dd code")].some((value) => {
    const lines = value.getClientRects();
    const place = value.closest("td, dd, li");
    const squeezed = place?.tagName !== "TD" && (place?.clientWidth ?? 0) < 160 && lines.length > 1;
    return squeezed || [...lines].some((r) => r.left < edge.left - 1 || r.right > edge.right + 1);
  });
}

/**
 * useFolds counts what is folded inside of a [Folds], and opens all of it. Until the end of it, where that is marked,
 * was on the screen, something counts as folded. Values beyond the edge of the box that ends there count, too: to show
 * all is then to show them below each other. Content that comes later is named, so that its end is looked for again.
 */
export function useFolds(content?: unknown) {
  const [folded, setFolded] = useState(0);
  const [all, setAll] = useState(false);
  const [unseen, setUnseen] = useState(false);
  const [cut, setCut] = useState(false);
  const [flat, setFlat] = useState(false);
  const end = useRef<HTMLDivElement>(null);
  const closed = useCallback((by: 1 | -1) => setFolded((n) => n + by), []);
  const scope = useMemo(() => ({ all, flat, closed }), [all, flat, closed]);
  useEffect(() => {
    const box = end.current?.parentElement;
    if (!box) return;
    const sizes = new ResizeObserver(() => setCut(cutIn(box)));
    sizes.observe(box);
    return () => sizes.disconnect();
  }, [content]);
  useEffect(() => {
    if (!end.current) return;
    let first = true;
    const watch = new IntersectionObserver((e) => {
      const on = e.some((x) => x.isIntersecting);
      if (on || first) setUnseen(!on);
      first = false;
    });
    watch.observe(end.current);
    return () => watch.disconnect();
  }, [all, flat, folded, content]);
  const showAll = () => {
    if (!folded && !cut) end.current?.scrollIntoView({ block: "end" });
    setAll(true);
    setFlat((was) => was || cut);
  };
  return { folded: folded || +cut || +unseen, showAll, scope, end };
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
