// Characters that people do not see, or that reorder what they see. A mark stands in the place of
// each, as ‹U+202E›, or in JSON an escape, as \u202e. The list is that of internal/base/text, which
// the terminal uses too; a test of package server compares them. Variation selectors and joiners within
// Unicode's emoji sequences, and joiners within words of scripts that need them, are text.

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

// What stands before and behind a joiner in Unicode's emoji sequences, and scripts that write words with joiners.
const left =
  "♀♂⛓⛹❤🍄🍋🏃🏄🏊🏋🏌🏳🏴🐈🐕🐦🐻👁👦👧👨👩👮👯👰👱👳👷💁💂💆💇💋🕵😮😵😶🙂🙅🙆🙇🙋🙍🙎🚣🚴🚵🚶🤝🤦🤵🤷🤸🤹🤼🤽🤾🦯🦸🦹🦼🦽🧍🧎🧏🧑🧒🧔🧖🧗🧘🧙🧚🧛🧜🧝🧞🧟";
const right = "↔↕☠♀♂⚕⚖⚧✈❄❤➡⬛🌈🌫🌾🍳🍼🎄🎓🎤🎨🏫🏭👦👧👨👩💋💥💨💫💻💼🔥🔧🔬🗨🚀🚒🟩🟫🤝🦯🦰🦱🦲🦳🦺🦼🦽🧑🧒🩰🩹";
const scripted =
  "Arabic Syriac Mongolian Devanagari Bengali Gurmukhi Gujarati Oriya Tamil Telugu Kannada Malayalam Sinhala Khmer Myanmar";
const word = scripted
  .split(" ")
  .map((s) => `(?<=(?=[\\p{L}\\p{M}])\\p{Script=${s}})[\u200c\u200d](?=(?=[\\p{L}\\p{M}])\\p{Script=${s}})`)
  .join("|");
const drawn = new RegExp(
  `(?<=(?![0-9#*])\\p{Emoji})[\ufe0e\ufe0f]|(?<=[0-9#*])\ufe0f(?=\u20e3)|(?<=[${left}][\ufe0f\u{1f3fb}-\u{1f3ff}]?)\u200d(?=[${right}])|${word}`,
  "gu",
);

/** replace has each hidden character replaced, but those that draw what stands beside them. */
const replace = (text: string, by: (char: string) => string) => {
  const seen = suspect.test(text) ? new Set(Array.from(text.matchAll(drawn), (m) => m.index)) : undefined;
  let at = 0;
  return Array.from(text, (char) => {
    const hidden = isHidden(codeOf(char)) && !seen?.has(at);
    at += char.length;
    return hidden ? by(char) : char;
  }).join("");
};
const suspect = /[\u200c\u200d\ufe0e\ufe0f]/;

/** marked returns a text as it is shown. */
export const marked = (text: string) =>
  replace(
    mixed(text, (char, script) => `‹${script} ${char}›`),
    (char) => mark(codeOf(char)),
  )
    .replace(emptyLines, (run) => `\n${emptyMark(run)}\n`)
    .replace(spaces, spaceMark);

/** escaped returns JSON text that says the same, with nothing hidden in it. */
export const escaped = (json: string) => replace(json, units);

/** Marks are those of texts, each once, by what they stand for. */
export type Marks = { unseen: string[]; mixed: string[]; long: string[] };

/** hiddenIn returns the marks of what is hidden in texts, each once. */
export const hiddenIn = (texts: Iterable<string | undefined>): string[] => Object.values(marksIn(texts)).flat();

/** marksIn returns the marks of what is hidden in texts. */
export function marksIn(texts: Iterable<string | undefined>): Marks {
  const unseen = new Set<string>();
  const others = new Set<string>();
  const long = new Set<string>();
  for (const text of texts) {
    const shown = replace(text ?? "", (char) => {
      unseen.add(mark(codeOf(char)));
      return mark(codeOf(char));
    });
    mixed(text ?? "", (char, script) => {
      others.add(`‹${script} ${char}›`);
      return char;
    });
    for (const [run] of shown.matchAll(emptyLines)) long.add(emptyMark(run));
    for (const [run] of shown.matchAll(spaces)) long.add(spaceMark(run));
  }
  return { unseen: [...unseen], mixed: [...others], long: [...long] };
}

// Lines that show nothing push what follows them off the screen, and so do spaces that wrap.
const emptyLines = /\n(?:(?:[^\S\n]|‹U\+[0-9A-F]+›)*\n){4,}/g;
const spaces = /[^\S\n]{100,}/g;
const emptyMark = (run: string) => `‹${(run.split("\n").length - 2).toLocaleString("en")} empty lines›`;
const spaceMark = (run: string) => `‹${run.length.toLocaleString("en")} spaces›`;

// Letters of other scripts that are drawn as Latin ones. Of Greek only those: kΩ and Δt are written so. A letter
// between digits, as in INV-1O14, is no sign of anything: numbers of invoices are made of both, and the face of values
// draws O and 0, I, l and 1 apart.
const scripts: readonly (readonly [string, RegExp])[] = [
  ["Cyrillic", /\p{Script=Cyrillic}/u],
  ["Greek", /[ΑΒΕΖΗΙΚΜΝΟΡΤΥΧαγικνορυχϲϳϹ]/u],
  ["Armenian", /\p{Script=Armenian}/u],
  ["Cherokee", /\p{Script=Cherokee}/u],
  ["Coptic", /\p{Script=Coptic}/u],
  ["Lisu", /\p{Script=Lisu}/u],
];
const others =
  /[\u0370-\u058f\u13a0-\u13ff\u1c80-\u1c8f\u1d2b\u1d78\u2c80-\u2dff\ua4d0-\ua4ff\ua640-\ua69f\uab70-\uabbf]/;
const latin = /\p{Script=Latin}/u;
const letter = /\p{L}/u;
const alike = /^[АВЕЅІЈКМНОРСТУХЬаеѕіјорсухԁһӏԛԝΑΒΕΖΗΙΚΜΝΟΡΤΥΧο]$/; // the Cyrillic and Greek ones that are Latin to the eye

/**
 * mixed replaces letters of another script than their word's, as internal/base/text does: the tests of both read
 * its shown.json. Of a word with Latin and Cyrillic letters it
 * replaces those of which there are fewer. A part of an id, as in INV-1О14, counts with the rest if it has
 * only letters that are drawn alike. Words of one script stay as they are, whatever stands beside them.
 */
function mixed(text: string, by: (char: string, script: string) => string): string {
  if (!others.test(text)) return text;
  return text.replace(/[^\s"]+/gu, (run) => {
    if (!others.test(run) || !latin.test(run)) return run;
    return run.replace(/[\p{L}\p{M}\p{N}]+/gu, (word) => {
      const chars = Array.from(word);
      const scriptOf = (char: string) => scripts.find(([, is]) => is.test(char))?.[0];
      const foreign = chars.filter(scriptOf);
      const own = chars.filter((char) => latin.test(char));
      if (own.length === 0 && !chars.every((char) => !letter.test(char) || alike.test(char))) return word;
      if (own.length >= foreign.length || own.length === 0)
        return chars.map((char) => (scriptOf(char) ? by(char, scriptOf(char) ?? "") : char)).join("");
      return chars.map((char) => (latin.test(char) ? by(char, "Latin") : char)).join("");
    });
  });
}
