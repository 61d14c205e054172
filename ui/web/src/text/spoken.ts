// How a string is shown without its quotes.

import { marked } from "./hidden";

const names: Record<string, string> = { "\n": "newline", "\t": "tab", " ": "space" };
const named = (space: string) =>
  `‹${names[space] ?? `U+${(space.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`}›`;

/** spoken returns a string as it is shown: white space at its ends is marked, and quotes stand only where it could be taken for something else. */
export const spoken = (text: string) =>
  ambiguous(text)
    ? JSON.stringify(marked(text))
    : marked(text).replace(/^\s+|\s+$/g, (ends) => Array.from(ends, named).join(""));

/** ambiguous says whether a string without its quotes could be taken for something else. */
export const ambiguous = (text: string) =>
  text.trim() === "" || /^(-?\d[\d.eE+-]*|true|false|null|[{["].*)$/.test(text);
