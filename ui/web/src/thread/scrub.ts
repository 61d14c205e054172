// The line of one branch from left to right: what ran, what waited, and how long. Nothing here draws.

import { asksPeople, failed, isFork, questionOf, type Row } from "./items";

export type Mode = "order" | "time";
export type Tone = "finished" | "running" | "waiting" | "acted" | "failed" | "idle" | "unknown";

/** A Bar is a part of the line, from and to in parts of its width. */
export type Bar = { from: number; to: number; tone: Tone; seq: number; cut: boolean };

export type Scrub = {
  bars: Bar[];
  /** Where each row ends, oldest first, with the entry it is of. */
  marks: { at: number; seq: number; id: string }[];
  begin: string;
  end: string;
  /** Milliseconds between forks and what they were made from: the branch was not there. */
  apart: number;
  /** It is not over: its end is now. */
  goesOn: boolean;
};

type Stretch = { ms: number; tone: Tone; seq: number; ends: boolean; apart?: boolean };

/** A branch with these does not go on by itself. */
const stands = new Set<string | undefined>(["done", "failed", "cancelled", "interrupted"]);

/** A wait that is longer than so many times the upper quartile of all is cut. */
const longest = 5;
const least = 0.002;

/** scrubOf lays a line of rows out, the newest first, in the order of the rows or to their times. */
export function scrubOf(line: Row[], mode: Mode, running: boolean, now: number): Scrub | undefined {
  const first = line.at(-1);
  const last = line[0];
  if (!first || !last) return undefined;
  const stretches = stretchesOf(line, running, now);
  const weights = weightsOf(stretches, mode);
  const sum = weights.reduce((a, w) => a + w.weight, 0) || 1;
  const bars: Bar[] = [];
  const marks: Scrub["marks"] = [];
  const ids = new Map(line.map((r) => [r.seq, r.id]));
  let at = 0;
  for (const [i, s] of stretches.entries()) {
    const from = at / sum;
    at += weights[i]!.weight;
    const to = at / sum;
    const before = bars.at(-1);
    if (before && before.tone === s.tone && !weights[i]!.cut && !before.cut && to - before.from < least) before.to = to;
    else bars.push({ from, to, tone: s.tone, seq: s.seq, cut: weights[i]!.cut });
    if (s.ends) marks.push({ at: to, seq: s.seq, id: ids.get(s.seq) ?? "" });
  }
  const goesOn = running || (last.asked ?? []).some((w) => w.state === "open");
  const apart = stretches.reduce((ms, s) => ms + (s.apart ? s.ms : 0), 0);
  const end = goesOn ? new Date(now).toISOString() : last.at;
  return { bars, marks, begin: first.began ?? first.at, end, apart, goesOn };
}

/** stretchesOf cuts a line into what ran and what waited, oldest first. */
function stretchesOf(line: Row[], running: boolean, now: number): Stretch[] {
  const all: Stretch[] = [];
  let until: number | undefined;
  let waited: Row | undefined;
  let stood = false;
  for (const r of line.toReversed()) {
    const at = Date.parse(r.at);
    const began = r.began ? Math.min(at, Date.parse(r.began)) : at;
    if (until !== undefined && isFork(r)) {
      all.push({ ms: Math.max(0, at - until), tone: "idle", seq: r.seq, ends: false, apart: true });
      until = Math.max(at, until);
    } else if (until !== undefined && waited) {
      const asked = questionOf(waited);
      const answered = Math.min(began, asked?.at ? Math.max(until, asked.at) : began);
      all.push({ ms: Math.max(0, answered - until), tone: asked ? "waiting" : "idle", seq: waited.seq, ends: false });
      until = answered;
    }
    if (until !== undefined && began > until)
      all.push({ ms: began - until, tone: waited || stood ? "idle" : "finished", seq: r.seq, ends: false });
    all.push({ ms: Math.max(0, at - Math.max(began, until ?? began)), tone: toneOf(r), seq: r.seq, ends: true });
    until = Math.max(at, until ?? at);
    stood = stands.has(r.status);
    waited = (r.asked ?? []).length > 0 ? r : undefined;
  }
  const last = line[0];
  if (!last || until === undefined) return all;
  if (waited?.asked?.some((w) => w.state === "open"))
    all.push({
      ms: Math.max(0, now - until),
      tone: waited.asked.some(asksPeople) ? "waiting" : "idle",
      seq: last.seq,
      ends: false,
    });
  else if (running) all.push({ ms: Math.max(0, now - until), tone: "running", seq: last.seq, ends: false });
  return all;
}

function toneOf(r: Row): Tone {
  if (r.effects?.some((e) => e.status === "unknown")) return "unknown";
  if (failed(r)) return "failed";
  if (r.effects?.some((e) => e.status === "executed")) return "acted";
  return "finished";
}

function weightsOf(stretches: Stretch[], mode: Mode): { weight: number; cut: boolean }[] {
  if (mode === "order")
    return stretches.map((s) => ({ weight: s.ends ? 1 : s.tone === "finished" || s.ms === 0 ? 0 : 1, cut: false }));
  const spans = stretches
    .map((s) => s.ms)
    .filter((ms) => ms > 0)
    .sort((a, b) => a - b);
  const cap = longest * (spans[Math.floor((spans.length - 1) * 0.75)] ?? 1);
  const shown = stretches.map((s) => ({ weight: Math.min(s.ms, cap), cut: s.ms > cap }));
  const floor = shown.reduce((a, s) => a + s.weight, 0) * Math.min(least * 2, 0.5 / stretches.length);
  return shown.map((s, i) => ({ ...s, weight: Math.max(s.weight, stretches[i]!.ends ? floor : 0) }));
}

/** nearestMark returns the row whose end is nearest to a place on the line. */
export function nearestMark(scrub: Scrub, at: number): Scrub["marks"][number] | undefined {
  const { marks } = scrub;
  let [low, high] = [0, marks.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (marks[middle]!.at < at) low = middle + 1;
    else high = middle;
  }
  const [after, before] = [marks[low], marks[low - 1]];
  return after && before && Math.abs(before.at - at) < Math.abs(after.at - at) ? before : after;
}

/**
 * extended returns the entries of a range that one of its ends was moved by a row, and that end. Without
 * a range it begins at a row.
 */
export function extended(
  { marks }: Pick<Scrub, "marks">,
  between: [number, number] | undefined,
  at: number,
  end: "low" | "high" | undefined,
  by: 1 | -1,
): { between: [number, number]; end: "low" | "high" } | undefined {
  const place = (seq: number) => marks.findIndex((m) => m.seq === seq);
  const from = at < 0 ? marks.length - 1 : at;
  const [low, high] = between ? [place(between[0]), place(between[1])] : [from, from];
  const moves = between && low !== high && end ? end : by > 0 ? "high" : "low";
  const to = Math.min(marks.length - 1, Math.max(0, (moves === "high" ? high : low) + by));
  const [one, other] = [marks[moves === "high" ? low : to], marks[moves === "high" ? to : high]];
  return one && other && { between: [one.seq, other.seq], end: moves };
}

/** entriesIn returns the first and the last entry of a part of the line, or nothing if no row ends in it. */
export function entriesIn(scrub: Scrub, from: number, to: number): [number, number] | undefined {
  const inside = scrub.marks.filter((m) => m.at >= from && m.at <= to);
  return inside.length > 0 ? [inside[0]!.seq, inside.at(-1)!.seq] : undefined;
}
