import type { LucideIcon } from "lucide-react";
import {
  Archive,
  Ban,
  Check,
  CircleDashed,
  CircleHelp,
  Clock,
  GitFork,
  Pause,
  Play,
  RotateCcw,
  Save,
  Split,
  TriangleAlert,
  X,
} from "lucide-react";
import { Said } from "./said";
import css from "./chip.module.css";

export type Tone = "waiting" | "running" | "done" | "failed" | "forked" | "grey" | "hollow" | "outline" | "unknown";

/** A state has a colour, an icon and a word: it is never told by colour alone. */
const states: Record<string, { tone: Tone; icon: LucideIcon }> = {
  open: { tone: "waiting", icon: Clock },
  waiting: { tone: "waiting", icon: Clock },
  proposed: { tone: "waiting", icon: Clock },
  running: { tone: "running", icon: Play },
  released: { tone: "running", icon: Play },
  done: { tone: "done", icon: Check },
  approved: { tone: "done", icon: Check },
  executed: { tone: "done", icon: Check },
  answered: { tone: "done", icon: Check },
  edited: { tone: "grey", icon: Check },
  decided: { tone: "grey", icon: Check },
  failed: { tone: "failed", icon: X },
  retried: { tone: "outline", icon: RotateCcw },
  rejected: { tone: "outline", icon: X },
  forked: { tone: "forked", icon: GitFork },
  ready: { tone: "grey", icon: Pause },
  interrupted: { tone: "grey", icon: Pause },
  paused: { tone: "grey", icon: Pause },
  cancelled: { tone: "grey", icon: Ban },
  expired: { tone: "hollow", icon: CircleDashed },
  withdrawn: { tone: "hollow", icon: CircleDashed },
  superseded: { tone: "hollow", icon: Split },
  saved: { tone: "hollow", icon: Save },
  archived: { tone: "grey", icon: Archive },
  unknown: { tone: "unknown", icon: CircleHelp },
  claimed: { tone: "running", icon: Play },
  delayed: { tone: "grey", icon: Clock },
  connected: { tone: "done", icon: Check },
  silent: { tone: "failed", icon: TriangleAlert },
  verified: { tone: "done", icon: Check },
  faults: { tone: "failed", icon: X },
  signs: { tone: "done", icon: Check },
  known: { tone: "grey", icon: Check },
  retired: { tone: "grey", icon: Archive },
  good: { tone: "done", icon: Check },
  ok: { tone: "done", icon: Check },
  new: { tone: "grey", icon: CircleDashed },
  retrying: { tone: "waiting", icon: Clock },
  down: { tone: "failed", icon: X },
  gone: { tone: "outline", icon: Ban },
  weak: { tone: "failed", icon: TriangleAlert },
};

/** lookOf returns the colour and the icon of a state. */
export const lookOf = (state: string): { tone: Tone; icon: LucideIcon } =>
  states[state] ?? { tone: "grey", icon: CircleDashed };

type Props = {
  state: string;
  also?: string;
  by?: string;
  times?: number;
  /** Where there is little room the word is only read out. */
  small?: boolean;
};

/** These a name stands for: what a person approved needs no word beside the green check. */
const named = new Set(["approved", "answered"]);

/**
 * Chip says a state in a word. also says more of it, such as the time that is left; by names the
 * person who brought it about, and times says how often it came about.
 */
export function Chip({ state, also, by, times, small }: Props) {
  const { tone, icon: Icon } = lookOf(state);
  const more = (times === undefined ? "" : ` ×${times}`) + (also ? `, ${also}` : "");
  return (
    <span className={`${css.chip} ${css[tone]}`}>
      <Icon size={12} strokeWidth={1.75} aria-hidden />
      {by ? (
        <span className={css.by} title={state}>
          <span className={named.has(state) ? "visually-hidden" : undefined}>{state}</span>
          <span className={named.has(state) ? undefined : css.also}>
            <span className={named.has(state) ? "visually-hidden" : undefined}> by </span>
            <Said>{by}</Said>
          </span>
        </span>
      ) : (
        <span>
          <span className={small ? css.also : undefined}>{state}</span>
          {more}
        </span>
      )}
      {by && more}
    </span>
  );
}
