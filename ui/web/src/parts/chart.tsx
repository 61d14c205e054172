import css from "./chart.module.css";

const height = 72;

/** Bars draws a number a day, or of anything that has an order. Each number stands above its bar. */
export function Bars({ label, bars }: { label: string; bars: { name: string; value: number; title?: string }[] }) {
  const most = Math.max(1, ...bars.map((b) => b.value));
  return (
    <ol className={css.bars} aria-label={label} style={{ gridTemplateColumns: `repeat(${bars.length}, 1fr)` }}>
      {bars.map((b, i) => (
        <li key={i} title={b.title}>
          <b>{b.value}</b>
          <svg viewBox={`0 0 10 ${height}`} preserveAspectRatio="none" aria-hidden>
            <rect
              x="0"
              width="10"
              y={height - Math.max(b.value ? 2 : 1, (b.value / most) * height)}
              height={height}
              className={b.value ? css.bar : css.none}
            />
          </svg>
          <span>{b.name}</span>
        </li>
      ))}
    </ol>
  );
}

const [wide, high] = [240, 40];

/** Line draws the newest of a series of numbers, the newest at the right. What it shows is said beside it. */
export function Line({ values, room }: { values: number[]; room: number }) {
  const most = Math.max(1, ...values);
  const shown = values.slice(-room);
  const x = (i: number) => wide - ((shown.length - 1 - i) / (room - 1)) * wide;
  const y = (v: number) => high - 1 - (v / most) * (high - 3);
  const points = shown.map((v, i) => `${x(i).toFixed(1)},${y(v).toFixed(1)}`);
  return (
    <svg className={css.line} viewBox={`0 0 ${wide} ${high}`} preserveAspectRatio="none" aria-hidden>
      <path d={`M0 ${high - 0.5}H${wide}`} className={css.base} />
      {points.length > 1 && (
        <>
          <path d={`M${x(0).toFixed(1)},${high} L${points.join(" L")} L${wide},${high} Z`} className={css.area} />
          <polyline points={points.join(" ")} className={css.stroke} />
        </>
      )}
    </svg>
  );
}
