import { hiddenIn, marked } from "../text/hidden";
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

/** Hidden warns of characters in texts that people do not see. Without any it is nothing. */
export function Hidden({ texts }: { texts: Iterable<string | undefined> }) {
  const marks = hiddenIn(texts);
  if (marks.length === 0) return null;
  return (
    <p className={css.warning} role="note">
      Characters that are not seen stand here: {marks.slice(0, 8).join(" ")}
      {marks.length > 8 && ` and ${marks.length - 8} others`}. They can make one text look like another.
    </p>
  );
}
