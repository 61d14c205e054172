import type { KeyboardEvent } from "react";

/** which are the parts that arrows move between. The list is one stop of Tab. */
const which = "[data-rove]";

/** rove moves the focus by arrows, Home and End between the parts of a list, and returns the one that has it now. */
export function rove(e: KeyboardEvent<HTMLElement>): HTMLElement | undefined {
  if (e.ctrlKey || e.metaKey || e.altKey || e.shiftKey) return undefined;
  const all = [...e.currentTarget.querySelectorAll<HTMLElement>(which)];
  const now = all.indexOf(document.activeElement as HTMLElement);
  if (now < 0) return undefined;
  const to = { ArrowDown: now + 1, ArrowUp: now - 1, Home: 0, End: all.length - 1 }[e.key];
  const next = to === undefined ? undefined : all[Math.min(all.length - 1, Math.max(0, to))];
  if (!next) return undefined;
  e.preventDefault();
  next.focus();
  return next;
}
