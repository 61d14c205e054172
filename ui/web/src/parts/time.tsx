import { useEffect, useState, useSyncExternalStore } from "react";
import { now } from "../api/clock";

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

const listeners = new Set<() => void>();
let tick = now();
setInterval(() => {
  tick = now();
  for (const l of listeners) l();
}, 5 * second);

/** useNow returns the time, at most five seconds old. */
export const useNow = () =>
  useSyncExternalStore(
    (l) => {
      listeners.add(l);
      return () => listeners.delete(l);
    },
    () => (Math.abs(now() - tick) < 6 * second ? tick : (tick = now())),
  );

/** useSeconds returns the time, and draws again each second: for what runs before somebody's eyes. */
export function useSeconds(): number {
  const [at, set] = useState(now);
  useEffect(() => {
    const timer = setInterval(() => set(now()), second);
    return () => clearInterval(timer);
  }, []);
  return Math.max(at, tick);
}

/** length says how long a time is, in its largest unit. */
export function length(ms: number): string {
  const abs = Math.abs(ms);
  if (abs < second) return `${Math.round(abs)} ms`;
  if (abs < 10 * second) return `${(abs / second).toFixed(1)} s`;
  if (abs < minute) return `${Math.floor(abs / second)} s`;
  if (abs < hour) return `${Math.floor(abs / minute)} min`;
  if (abs < 2 * day) return `${Math.floor(abs / hour)} h`;
  return `${Math.floor(abs / day)} d`;
}

export const utc = () => localStorage.getItem("utc") === "yes";

/** exact says a moment to the second, in the zone that people chose in the settings. */
export function exact(at: string): string {
  const date = new Date(at);
  if (utc())
    return date
      .toISOString()
      .replace("T", " ")
      .replace(/\.\d+Z$/, " UTC");
  return date.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" });
}

/** Ago shows how long ago a moment was. The exact one is in its title, and in copies. */
export function Ago({ at }: { at: string | undefined }) {
  const to = useNow();
  if (!at) return null;
  const ms = to - Date.parse(at);
  return (
    <time dateTime={at} title={exact(at)}>
      {ms < 10 * second ? "just now" : `${length(ms)} ago`}
    </time>
  );
}

/** At shows the time of day of a moment, with its date unless that is today. */
export function At({ at }: { at: string }) {
  const to = useNow();
  const date = new Date(at);
  const zone = utc() ? { timeZone: "UTC" } : {};
  const sameDay = date.toLocaleDateString(undefined, zone) === new Date(to).toLocaleDateString(undefined, zone);
  const clock = date.toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", ...zone });
  const dayOf = date.toLocaleDateString(undefined, { day: "numeric", month: "short", ...zone });
  return (
    <time dateTime={at} title={exact(at)}>
      {sameDay ? clock : `${dayOf}, ${clock}`}
    </time>
  );
}

/** isSoon says whether less than a tenth of a time is left. */
export const isSoon = (from: string | undefined, to: string, at: number) =>
  Date.parse(to) - at < (from ? (Date.parse(to) - Date.parse(from)) / 10 : 10 * minute);

/** left says how long it is to a moment. */
export const left = (to: string, at: number) => (Date.parse(to) <= at ? "over" : `${length(Date.parse(to) - at)} left`);
