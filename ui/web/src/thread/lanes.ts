// Branches as lanes: which lane each row is on, and which lines pass it. Rows are the newest first, as
// they are shown. Nothing here draws.

export type LaneRow = {
  id: string;
  branch: string;
  /** The nearest row below that this one was made from. */
  parent?: string;
  /** The thread that the branch was forked from, if it is another. */
  foreign?: string;
  /** A newer row whose question took the place of this one's. */
  successor?: string;
};

/** A Track is a line of rows: a branch down to where it left another, or what such a branch left behind. */
export type Track = {
  branch: string;
  /** It was left: the branch goes on from a row before it. */
  left: boolean;
  top: number;
  bottom: number;
  /** Where its dashed line arrives, else top: the lane is taken from there. */
  start: number;
  /** The row that it was made from, on another track. */
  join?: number;
  /** The thread that it was forked from, if it is another. */
  foreign?: string;
  /** It goes on in rows that are not read yet. */
  open: boolean;
  lane: number;
};

type Dash = { from: number; to: number; lane: number; beside: boolean };

export type Line = { lane: number; track: Track | undefined; in: boolean; out: boolean };
export type Slice = {
  lane: number;
  track: Track;
  lines: Line[];
  /** Lanes that leave from this row upwards. */
  joins: { lane: number; track: Track | undefined }[];
  /** Dashed lines from superseded questions: passing, beginning here, or arriving from a lane. */
  dashes: { lane: number; beside: boolean; at: "from" | "through" | "to" }[];
  stub?: string;
};

export type Layout = {
  tracks: Track[];
  /** How many lanes are drawn, the one for the rest included. */
  width: number;
  /** The lane that all the rest share, and how many branches those are. */
  rest: number;
  more: string[];
  slice: (row: number) => Slice;
};

/** layout lays rows out on at most so many lanes, and one for the rest. The chosen branch gets one of its own. */
export function layout(rows: LaneRow[], drawn: number, chosen: string, complete: boolean): Layout {
  const index = new Map(rows.map((r, i) => [r.id, i]));
  const { tracks, of } = follow(rows, index, complete);
  const dashes = replaced(rows, index, tracks, of);
  let taken = assign(tracks, drawn, undefined);
  const wanted = tracks.find((t) => t.branch === chosen && !t.left);
  if (wanted && wanted.lane === drawn) taken = assign(tracks, drawn, wanted);
  for (const d of dashes) d.lane = tracks[of[d.from]!]!.lane;
  const slices = new Map<number, Slice>();
  const own = new Set(tracks.filter((t) => t.lane < drawn).map((t) => t.branch));
  const more = [...new Set(tracks.filter((t) => t.lane === drawn).map((t) => t.branch))].filter((b) => !own.has(b));
  return {
    tracks,
    width: taken,
    rest: drawn,
    more,
    slice: (row) => {
      const slice = slices.get(row) ?? sliceOf(row, rows, tracks, of, dashes, drawn);
      slices.set(row, slice);
      return slice;
    },
  };
}

function follow(rows: LaneRow[], index: Map<string, number>, complete: boolean) {
  const tracks: Track[] = [];
  const of: number[] = new Array<number>(rows.length);
  const claimed = new Map<number, number>();
  const seen = new Set<string>();
  for (const [i, row] of rows.entries()) {
    let t = claimed.get(i);
    if (t === undefined) {
      t = tracks.length;
      tracks.push({
        branch: row.branch,
        left: seen.has(row.branch),
        top: i,
        bottom: i,
        start: i,
        open: false,
        lane: 0,
      });
      seen.add(row.branch);
    }
    const track = tracks[t]!;
    track.bottom = i;
    of[i] = t;
    const parent = row.parent === undefined ? undefined : index.get(row.parent);
    if (parent === undefined || parent <= i) {
      track.open = row.parent !== undefined && !complete;
      if (row.foreign !== undefined) track.foreign = row.foreign;
    } else if (rows[parent]!.branch === row.branch && !claimed.has(parent)) claimed.set(parent, t);
    else track.join = parent;
  }
  return { tracks, of };
}

function replaced(rows: LaneRow[], index: Map<string, number>, tracks: Track[], of: number[]): Dash[] {
  const dashes: Dash[] = [];
  for (const [from, row] of rows.entries()) {
    const to = row.successor === undefined ? undefined : index.get(row.successor);
    if (to === undefined || to >= from) continue;
    const track = tracks[of[from]!]!;
    const beside = track.top !== from;
    if (!beside) track.start = Math.min(track.start, to);
    dashes.push({ from, to, lane: 0, beside });
  }
  return dashes;
}

/** assign gives each track the first lane that is free over its rows, main the first of all. It returns how many lanes are used. */
function assign(tracks: Track[], drawn: number, first: Track | undefined): number {
  const until = new Array<number>(drawn).fill(-1);
  let width = 1;
  const end = (t: Track) => t.join ?? (t.open ? Infinity : t.bottom);
  const apart = (t: Track, lane: number) =>
    first === undefined || lane !== 1 || end(t) < first.start || t.start > end(first);
  for (const t of tracks) {
    if (t.branch === "main" && !t.left) t.lane = 0;
    else if (t === first) t.lane = 1;
    else {
      let lane = 1;
      while (lane < drawn && (until[lane]! >= t.start || !apart(t, lane))) lane++;
      t.lane = lane;
    }
    if (t.lane < drawn) until[t.lane] = Math.max(until[t.lane]!, end(t));
    width = Math.max(width, t.lane + 1);
  }
  return width;
}

function sliceOf(row: number, rows: LaneRow[], tracks: Track[], of: number[], dashes: Dash[], drawn: number): Slice {
  const track = tracks[of[row]!]!;
  const byLane = new Map<number, Line>();
  const add = (t: Track, above: boolean, below: boolean) => {
    const has = byLane.get(t.lane);
    const line = { lane: t.lane, track: t.lane === drawn ? undefined : t, in: above, out: below };
    if (has) byLane.set(t.lane, { ...has, in: has.in || above, out: has.out || below });
    else byLane.set(t.lane, line);
  };
  const joins = new Map<number, { lane: number; track: Track | undefined }>();
  for (const t of tracks) {
    if (t.top > row) break; // they are in the order of their tops
    if (t.join === row) joins.set(t.lane, { lane: t.lane, track: t.lane === drawn ? undefined : t });
    else if (row <= t.bottom) add(t, row > t.top, row < t.bottom || t.join !== undefined || t.open);
    else if (t.open || (t.join !== undefined && row < t.join)) add(t, true, true);
  }
  return {
    lane: track.lane,
    track,
    lines: [...byLane.values()],
    joins: [...joins.values()],
    dashes: dashes
      .filter((d) => d.to <= row && row <= d.from)
      .map(({ from, to, lane, beside }) => ({
        lane,
        beside,
        at: row === from ? ("from" as const) : row === to ? ("to" as const) : ("through" as const),
      })),
    ...(track.bottom === row && track.foreign !== undefined && rows[row]!.foreign !== undefined
      ? { stub: track.foreign }
      : {}),
  };
}
