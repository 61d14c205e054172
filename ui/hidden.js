// Characters that people do not see, or that reorder what they see. A page shows a mark in
// the place of each, as ‹U+202E›, or in JSON an escape, as \u202e. The list is that of
// internal/base/text, which the terminal uses too; a test of package server compares them. Variation selectors and
// joiners within Unicode's emoji sequences, and joiners within words of scripts that need them, are text.
"use strict";

const hiddenRanges = [
  [0x0, 0x8], [0xb, 0x1f], [0x7f, 0x9f], [0xad, 0xad], [0x34f, 0x34f], [0x600, 0x605],
  [0x61c, 0x61c], [0x6dd, 0x6dd], [0x70f, 0x70f], [0x890, 0x891], [0x8e2, 0x8e2], [0x115f, 0x1160],
  [0x17b4, 0x17b5], [0x180b, 0x180f], [0x200b, 0x200f], [0x2028, 0x202e], [0x2060, 0x206f],
  [0x2800, 0x2800], [0x3164, 0x3164], [0xfe00, 0xfe0f], [0xfeff, 0xfeff], [0xffa0, 0xffa0],
  [0xfff0, 0xfffb], [0x110bd, 0x110bd], [0x110cd, 0x110cd], [0x13430, 0x1343f], [0x1bca0, 0x1bca3],
  [0x1d173, 0x1d17a], [0xe0000, 0xe0fff],
];
const hidden = (() => {
  const is = (code) => hiddenRanges.some(([from, to]) => code >= from && code <= to);
  const mark = (code) => `‹U+${code.toString(16).toUpperCase().padStart(4, "0")}›`;
  const units = (char) => Array.from({ length: char.length }, (_, i) => `\\u${char.charCodeAt(i).toString(16).padStart(4, "0")}`).join("");
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
  const replace = (text, by) => {
    const seen = /[\u200c\u200d\ufe0e\ufe0f]/.test(text) ? new Set(Array.from(text.matchAll(drawn), (m) => m.index)) : undefined;
    let at = 0;
    return Array.from(text, (char) => {
      const hides = is(char.codePointAt(0)) && !(seen && seen.has(at));
      at += char.length;
      return hides ? by(char) : char;
    }).join("");
  };

  // marked returns a text as it is shown.
  const marked = (text) => replace(String(text), (char) => mark(char.codePointAt(0)));
  // escaped returns JSON text that says the same, with nothing hidden in it.
  const escaped = (json) => replace(json, units);
  // found returns the marks of what is hidden in texts, each once.
  const found = (...texts) => {
    const marks = new Set();
    for (const text of texts) replace(text || "", (char) => (marks.add(mark(char.codePointAt(0))), ""));
    return [...marks];
  };
  // warning says what is hidden in texts, "" if nothing is.
  const warning = (...texts) => {
    const marks = found(...texts);
    return marks.length ? `Characters that are not seen stand here: ${marks.join(" ")}. They can make one text look like another.` : "";
  };
  return { marked, escaped, found, warning };
})();
