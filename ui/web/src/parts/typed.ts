import { useEffect, useRef, useState } from "react";

/**
 * useTyped is the text of a search field. What is typed is searched for a moment after the last key. shown is
 * what the address says: changed by another way, as by a link, it takes the place of what was typed.
 */
export function useTyped(shown: string, search: (text: string) => void, pause: number) {
  const [text, setText] = useState(shown);
  const sent = useRef(shown);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const newest = useRef(search);
  useEffect(() => {
    newest.current = search;
  });
  useEffect(() => {
    if (shown === sent.current) return; // more may be typed by now
    clearTimeout(timer.current);
    sent.current = shown;
    setText(shown);
  }, [shown]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const ask = (value: string) => {
    clearTimeout(timer.current);
    sent.current = value.trim();
    newest.current(value);
  };
  return {
    text,
    /** type takes what is typed. */
    type(value: string) {
      setText(value);
      clearTimeout(timer.current);
      timer.current = setTimeout(() => value.trim() !== sent.current && ask(value), pause);
    },
    /** ask searches at once. */
    ask,
    /** clear empties the field: what was typed is searched for as something else. */
    clear() {
      clearTimeout(timer.current);
      sent.current = "";
      setText("");
    },
  };
}
