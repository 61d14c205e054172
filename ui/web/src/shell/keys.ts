import { useEffect, useRef } from "react";

const isField = (target: EventTarget | null) =>
  target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));

/** keysOff says whether a person turned single keys off. */
export const keysOff = () => localStorage.getItem("keys") === "off";

/** takesEnter says whether Enter belongs to what has the focus: a button, or a link that is not to what is shown. */
const takesEnter = (target: EventTarget | null) =>
  target instanceof Element && target.closest("button, summary, a:not([aria-current])") !== null;

export type Keys = Record<string, ((e: KeyboardEvent) => void) | undefined>;

/**
 * useKeys binds single keys. They are dead in fields, with modifiers, on repeat, while a dialog is
 * open, and where a person turned them off. Enter is left to a control that has the focus.
 */
export function useKeys(keys: Keys) {
  const now = useRef(keys);
  now.current = keys;
  useEffect(() => {
    const press = (e: KeyboardEvent) => {
      if (e.defaultPrevented || e.repeat || e.ctrlKey || e.metaKey || e.altKey || isField(e.target) || keysOff())
        return;
      if (document.querySelector("dialog[open]")) return;
      const act = now.current[e.key];
      if (!act || (e.key === "Enter" && takesEnter(e.target))) return;
      e.preventDefault();
      act(e);
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
}

/** useControlK runs what Ctrl-K, or ⌘K, is for. It works in fields, too. */
export function useControlK(act: () => void) {
  const now = useRef(act);
  now.current = act;
  useEffect(() => {
    const press = (e: KeyboardEvent) => {
      if (!(e.ctrlKey || e.metaKey) || e.key.toLowerCase() !== "k") return;
      e.preventDefault();
      now.current();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
}
