import { useMemo, useRef, useState, type PointerEvent } from "react";
import { At, exact, length } from "../parts/time";
import type { Row } from "./items";

import { entriesIn, extended, nearestMark, scrubOf, type Mode, type Scrub } from "./scrub";
import css from "./scrubber.module.css";

type Props = {
  line: Row[];
  mode: Mode;
  running: boolean;
  now: number;
  complete: boolean;
  at: Row | undefined;
  between: [number, number] | undefined;
  setBetween: (b: [number, number] | undefined) => void;
  look: (id: string) => void;
};

const heights = { finished: 10, running: 8, waiting: 5, acted: 14, failed: 14, unknown: 14, idle: 3 };

/** Scrubber is a branch from its begin to its end. A click goes to a row, a drag narrows the rows. */
export function Scrubber({ line, mode, running, now, complete, at, between, setBetween, look }: Props) {
  const scrub = useMemo(() => scrubOf(line, mode, running, now), [line, mode, running, now]);
  const [drag, setDrag] = useState<[number, number]>();
  const area = useRef<HTMLDivElement>(null);
  const moved = useRef<"low" | "high">(undefined);
  if (!scrub) return <div className={css.scrub} />;
  const placeOf = (e: PointerEvent) => {
    const box = area.current?.getBoundingClientRect();
    return box && box.width > 0 ? Math.min(1, Math.max(0, (e.clientX - box.left) / box.width)) : 0;
  };
  const end = (e: PointerEvent) => {
    if (!drag) return;
    const to = placeOf(e);
    const [low, high] = [Math.min(drag[0], to), Math.max(drag[0], to)];
    setDrag(undefined);
    const wide = area.current?.getBoundingClientRect().width ?? 1;
    if ((high - low) * wide < 4) {
      const mark = nearestMark(scrub, to);
      if (mark) look(mark.id);
    } else setBetween(entriesIn(scrub, low, high));
  };
  const place = (seq: number) => scrub.marks.find((m) => m.seq === seq)?.at;
  const brushed = drag ?? (between && [place(between[0]) ?? 0, place(between[1]) ?? 1]);
  const index = at ? scrub.marks.findIndex((m) => m.seq === at.seq) : -1;
  const mark = scrub.marks[index];
  return (
    <div className={css.scrub}>
      <div
        ref={area}
        className={css.area}
        role="slider"
        tabIndex={0}
        aria-label="the branch from its begin to its end"
        aria-valuemin={1}
        aria-valuemax={scrub.marks.length}
        aria-valuenow={index < 0 ? scrub.marks.length : index + 1}
        aria-valuetext={between ? `#${between[0]} to #${between[1]}` : at ? `#${at.seq}` : "the head"}
        aria-keyshortcuts="Shift+ArrowLeft Shift+ArrowRight"
        onKeyDown={(e) => {
          if (!e.shiftKey || (e.key !== "ArrowLeft" && e.key !== "ArrowRight") || e.ctrlKey || e.metaKey || e.altKey)
            return;
          e.preventDefault();
          const to = extended(scrub, between, index, moved.current, e.key === "ArrowRight" ? 1 : -1);
          moved.current = to?.end;
          if (to) setBetween(to.between);
        }}
        onPointerDown={(e) => {
          if (e.button !== 0) return;
          e.currentTarget.setPointerCapture(e.pointerId);
          setDrag([placeOf(e), placeOf(e)]);
        }}
        onPointerMove={(e) => drag && setDrag([drag[0], placeOf(e)])}
        onPointerUp={end}
        onPointerCancel={() => setDrag(undefined)}
      >
        <svg viewBox="0 0 10000 24" preserveAspectRatio="none" className={css.bars} aria-hidden>
          {scrub.bars.map((b, i) => (
            <rect
              key={i}
              className={css[b.tone]}
              x={b.from * 10000}
              width={Math.max(12, (b.to - b.from) * 10000 - 6)}
              y={20 - heights[b.tone]}
              height={heights[b.tone]}
            />
          ))}
        </svg>
        {scrub.bars
          .filter((b) => b.cut)
          .slice(0, 40)
          .map((b) => (
            <span key={b.from} className={css.cut} style={{ left: `${50 * (b.from + b.to)}%` }} title="cut short" />
          ))}
        {brushed && (
          <span
            className={css.brush}
            style={{
              left: `${100 * Math.min(brushed[0], brushed[1])}%`,
              width: `${100 * Math.abs(brushed[1] - brushed[0])}%`,
            }}
          />
        )}
        {mark && <span className={css.cursor} style={{ left: `${100 * mark.at}%` }} />}
      </div>
      <p className={css.ends}>
        <span title={exact(scrub.begin)}>{complete ? <At at={scrub.begin} /> : "loading what was before"}</span>
        <span className={css.total}>{lasted(scrub)}</span>
        <span title={exact(scrub.end)}>{scrub.goesOn ? "now" : <At at={scrub.end} />}</span>
      </p>
    </div>
  );
}

/** lasted says how long a branch took, and by itself how long what it was forked from had been there. */
function lasted({ begin, end, apart }: Scrub): string {
  const took = length(Date.parse(end) - Date.parse(begin) - apart);
  return apart < 1000 ? took : `${took}, and ${length(apart)} until it was forked`;
}
