import { useState } from "react";
import { useHeader, type Checkpoint } from "../data/checkpoints";
import { Said } from "../parts/said";
import { length } from "../parts/time";
import type { Step } from "./steps";
import css from "./step.module.css";

type Bar = { key: string; name: string; from: number; to: number; tone: string };

/** Bars draw when steps ran: beside each other by the clock, or one after the other in the order of the log. */
export function Bars({ at, steps }: { at: Checkpoint; steps: Step[] }) {
  const [byTime, setByTime] = useState(true);
  const parent = useHeader(at.parentId);
  const bars: Bar[] = steps.map((s) => ({
    key: s.key,
    name: s.which ? `${s.name} ${s.which}` : s.name,
    from: Date.parse(s.began ?? s.ended),
    to: Date.parse(s.ended),
    tone: s.effect === "external" || s.effect === "write" ? "acts" : "ran",
  }));
  const first = Math.min(...bars.map((b) => b.from));
  const waited = parent.data ? first - Date.parse(parent.data.createdAt) : 0;
  const last = Math.max(...bars.map((b) => b.to));
  if (bars.length < 2 && last === first) return null;
  const total = bars.reduce((sum, b) => sum + b.to - b.from, 0);
  const span = Math.max(1, byTime ? last - first : total);
  let sum = 0;
  return (
    <div className={css.chart} role="group" aria-label="when the steps ran">
      <p className={css.switch}>
        {waited > 0 && (
          <span>
            {parent.data?.status === "waiting" ? "waited" : "began"} {length(waited)} after #{parent.data?.seq}
          </span>
        )}
        <button type="button" aria-pressed={!byTime} onClick={() => setByTime(false)}>
          order
        </button>
        <button type="button" aria-pressed={byTime} onClick={() => setByTime(true)}>
          time
        </button>
      </p>
      <ol>
        {bars.slice(0, 100).map((b) => {
          const start = byTime ? b.from - first : sum;
          sum += b.to - b.from;
          return (
            <li key={b.key}>
              <span className={css.barName}>
                <Said>{b.name}</Said>
              </span>
              <svg className={css.bar} viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden>
                <rect
                  className={css[b.tone]}
                  x={Math.min(99, (start / span) * 100)}
                  width={Math.max(0.8, ((b.to - b.from) / span) * 100)}
                  height="8"
                />
              </svg>
              <span className={css.took}>{length(b.to - b.from)}</span>
            </li>
          );
        })}
      </ol>
      {bars.length > 100 && <p className={css.also}>and {bars.length - 100} more</p>}
    </div>
  );
}
