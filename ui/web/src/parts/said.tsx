import { marksIn, marked } from "../text/hidden";
import css from "./said.module.css";

type Props = { children: string | undefined; lines?: boolean };

/**
 * Said shows text that programs, models or people wrote. It is text and never HTML, newlines are kept
 * where lines is set, and characters that people do not see are visible as ‹U+202E›. Such text is
 * shown by nothing else.
 */
export function Said({ children = "", lines }: Props) {
  return (
    <bdi className={lines ? css.lines : css.said} dir="auto">
      {marked(children)}
    </bdi>
  );
}

const first = (marks: string[]) =>
  marks.slice(0, 8).join(" ") + (marks.length > 8 ? ` and ${marks.length - 8} others` : "");

/** Hidden warns of what people do not see in texts, or take for something else. Without any it is nothing. */
export function Hidden({ texts }: { texts: Iterable<string | undefined> }) {
  const { unseen, mixed, long } = marksIn(texts);
  const says = [
    unseen.length > 0 && `Characters that are not seen stand here: ${first(unseen)}.`,
    mixed.length > 0 && `Letters of another script stand inside of words: ${first(mixed)}.`,
    (unseen.length > 0 || mixed.length > 0) && "They can make one text look like another.",
    long.length > 0 && `Text goes on after what shows nothing: ${first(long)}.`,
  ].filter(Boolean);
  if (says.length === 0) return null;
  return (
    <p className={css.warning} role="note">
      {says.join(" ")}
    </p>
  );
}
