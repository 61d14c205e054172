// Characters that people do not see, or that reorder what they see. A mark stands in the place of
// each, as ‹U+202E›, or in JSON an escape, as \u202e. The list is that of internal/base/text, which
// the terminal uses too; a test of package ui compares them.

const ranges: readonly (readonly [number, number])[] = [
  [0x0, 0x8],
  [0xb, 0x1f],
  [0x7f, 0x9f],
  [0xad, 0xad],
  [0x34f, 0x34f],
  [0x600, 0x605],
  [0x61c, 0x61c],
  [0x6dd, 0x6dd],
  [0x70f, 0x70f],
  [0x890, 0x891],
  [0x8e2, 0x8e2],
  [0x115f, 0x1160],
  [0x17b4, 0x17b5],
  [0x180b, 0x180f],
  [0x200b, 0x200f],
  [0x2028, 0x202e],
  [0x2060, 0x206f],
  [0x2800, 0x2800],
  [0x3164, 0x3164],
  [0xfe00, 0xfe0f],
  [0xfeff, 0xfeff],
  [0xffa0, 0xffa0],
  [0xfff0, 0xfffb],
  [0x110bd, 0x110bd],
  [0x110cd, 0x110cd],
  [0x13430, 0x1343f],
  [0x1bca0, 0x1bca3],
  [0x1d173, 0x1d17a],
  [0xe0000, 0xe0fff],
];

const isHidden = (code: number) => ranges.some(([from, to]) => code >= from && code <= to);
const mark = (code: number) => `‹U+${code.toString(16).toUpperCase().padStart(4, "0")}›`;
const units = (char: string) =>
  Array.from({ length: char.length }, (_, i) => `\\u${char.charCodeAt(i).toString(16).padStart(4, "0")}`).join("");
const codeOf = (char: string) => char.codePointAt(0) ?? 0;
const replace = (text: string, by: (char: string) => string) =>
  Array.from(text, (char) => (isHidden(codeOf(char)) ? by(char) : char)).join("");

/** marked returns a text as it is shown. */
export const marked = (text: string) => replace(text, (char) => mark(codeOf(char)));

/** escaped returns JSON text that says the same, with nothing hidden in it. */
export const escaped = (json: string) => replace(json, units);

/** hiddenIn returns the marks of what is hidden in texts, each once. */
export function hiddenIn(texts: Iterable<string | undefined>): string[] {
  const found = new Set<string>();
  for (const text of texts) {
    for (const char of text ?? "") {
      if (isHidden(codeOf(char))) found.add(mark(codeOf(char)));
    }
  }
  return [...found];
}
