import { Link } from "wouter";
import { marked } from "../text/hidden";
import { threadPath } from "./address";
import { asksPeople, failed, questionOf, type Item } from "./items";
import type { Slice, Track } from "./lanes";
import css from "./lane.module.css";

const step = 20;
const half = 16;
export const laneAt = (lane: number) => 18 + step * lane;
/** lanesWide is how much room lanes take. */
export const lanesWide = (lanes: number) => laneAt(lanes - 1) + 18;

type Props = { item: Item; slice: Slice; chosen: string; rest: number; head: string | undefined };

const lineOf = (track: Track | undefined, chosen: string) => {
  if (!track) return css.rest;
  const kind = track.left ? css.left : track.branch === "main" ? css.main : css.fork;
  return `${kind} ${track.branch === chosen && !track.left ? css.chosen : ""}`;
};

/** Lane draws the lines that pass a row, and the row's own sign. */
export function Lane({ item, slice, chosen, rest, head }: Props) {
  const x = laneAt(slice.lane);
  return (
    <svg className={css.lane} width={laneAt(rest) + step} height={2 * half} aria-hidden>
      {slice.lines.map((l) => (
        <path
          key={l.lane}
          className={lineOf(l.track, chosen)}
          d={`M${laneAt(l.lane)} ${l.in ? 0 : half}V${l.out ? 2 * half : half}`}
        />
      ))}
      {slice.joins.map((j) => (
        <path key={`j${j.lane}`} className={lineOf(j.track, chosen)} d={elbow(laneAt(j.lane), x, 0, 8)} />
      ))}
      {slice.dashes.map((d, i) => {
        const at = laneAt(d.lane) + (d.beside ? 9 : 0);
        const way =
          d.at === "through"
            ? `M${at} 0V${2 * half}`
            : d.at === "to"
              ? elbow(at, x, 2 * half, -8)
              : d.beside
                ? elbow(at, x, 0, 8)
                : `M${at} ${half - 6}V0`;
        return <path key={`d${i}`} className={css.dash} d={way} />;
      })}
      {slice.stub !== undefined && <path className={css.stub} d={`M${x} ${half}V${2 * half - 4}`} />}
      <Sign item={item} x={x} track={slice.track} head={head} />
    </svg>
  );
}

/** elbow leads from a lane, at the edge of a row, round a corner to the row's own sign. */
function elbow(from: number, to: number, edge: number, radius: number): string {
  const side = to < from ? -8 : 8;
  const y = half - radius;
  return Math.abs(from - to) < 10
    ? `M${from} ${edge}V${y}L${to} ${half}`
    : `M${from} ${edge}V${y}Q${from} ${half} ${from + side} ${half}H${to}`;
}

function Sign({ item, x, track, head }: { item: Item; x: number; track: Track; head: string | undefined }) {
  const { row } = item;
  const own = track.branch === "main" ? css.mainDot : css.forkDot;
  if (item.now) return <circle cx={x} cy={half} r={5} className={css.runs} />;
  const asked = questionOf(row);
  if (asked) {
    const tone =
      asked.state === "open"
        ? css.open
        : asked.state !== "decided" || asked.superseded
          ? css.hollow
          : asked.verdict === "reject"
            ? css.refused
            : css.good;
    return <rect x={x - 5} y={half - 5} width={10} height={10} rx={1} className={`${css.diamond} ${tone}`} />;
  }
  if (failed(row)) return <circle cx={x} cy={half} r={head ? 5.5 : 4.5} className={css.bad} />;
  const effect = row.effects?.find((e) => e.status === "unknown") ?? row.effects?.at(-1);
  if (effect) {
    const tone = effect.status === "unknown" ? css.unknown : effect.status === "executed" ? css.good : css.runs;
    return <rect x={x - 5} y={half - 5} width={10} height={10} rx={1.5} className={tone} />;
  }
  if (item.count > 1)
    return (
      <g className={own}>
        <circle cx={x} cy={half - 7} r={2} />
        <circle cx={x} cy={half} r={3.5} />
        <circle cx={x} cy={half + 7} r={2} />
      </g>
    );
  if (row.source) return <circle cx={x} cy={half} r={4.5} className={css.began} />;
  if (head === "done") return <circle cx={x} cy={half} r={5.5} className={css.good} />;
  if (head && !row.asked?.length) return <circle cx={x} cy={half} r={5} className={css.stopped} />;
  if (row.asked?.some((w) => !asksPeople(w))) return <circle cx={x} cy={half} r={4} className={css.hollow} />;
  return <circle cx={x} cy={half} r={4} className={own} />;
}

/** Lines goes on with the lanes below a row that is opened. */
export const Lines = ({ slice, chosen }: { slice: Slice; chosen: string }) => (
  <>
    {slice.lines
      .filter((l) => l.out)
      .map((l) => (
        <svg key={l.lane} className={css.below} style={{ left: laneAt(l.lane) - 2 }} width={4} aria-hidden>
          <line className={lineOf(l.track, chosen)} x1={2} x2={2} y1={0} y2="100%" />
        </svg>
      ))}
  </>
);

/** Stub leads to the thread that a branch was forked from. */
export const Stub = ({ item, lane }: { item: Item; lane: number }) => (
  <Link
    href={threadPath(item.foreign ?? "", item.row.source ? { at: item.row.source.id } : {})}
    className={css.stubLink}
    style={{ left: laneAt(lane) - 10 }}
    aria-label={`go to ${marked(item.foreign ?? "")}, which it was forked from`}
    title={`forked from ${marked(item.foreign ?? "")}`}
  />
);
