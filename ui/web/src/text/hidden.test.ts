import { expect, test } from "vitest";
import cases from "../../../../internal/base/text/testdata/shown.json";
import emoji from "../../../../internal/base/text/testdata/emoji.json";
import { escaped, marksIn, marked } from "./hidden";

type Shown = { text: string; shown: string; unseen?: string[]; mixed?: string[]; long?: string[] };

test("texts are shown as the terminal, mails and Slack show them", () => {
  for (const { text, shown, unseen = [], mixed = [], long = [] } of cases as Shown[]) {
    expect(marked(text)).toBe(shown);
    expect(marksIn([text])).toEqual({ unseen, mixed, long });
  }
});

test("marks are named once, and JSON has escapes", () => {
  expect(marksIn(["a\u200bb", undefined, "\u200b"])).toEqual({ unseen: ["‹U+200B›"], mixed: [], long: [] });
  expect(marksIn(["Аcme GmbН", "Аcme"]).mixed).toEqual(["‹Cyrillic А›", "‹Cyrillic Н›"]);
  expect(escaped('"\u202e"')).toBe('"\\u202e"');
});

test("a variation selector is text behind the same emoji as on a terminal, and joiners between the same", () => {
  const within = (ranges: number[][]) => (code: number) =>
    ranges.some(([from = 0, to = 0]) => from <= code && code <= to);
  const [is, left, right] = [within(emoji.emoji), within(emoji.left), within(emoji.right)];
  const text = (shown: string) => !shown.includes("‹");
  for (let code = 0xa0; code < 0x20000; code++) {
    const char = String.fromCodePoint(code);
    if (/[\p{Cn}\p{Cs}]/u.test(char) || /[\p{Script=Arabic}]/u.test(char) || !text(marked(char))) continue;
    if (text(marked(`${char}\ufe0f`)) !== is(code)) expect.fail(`U+${code.toString(16)} with a selector`);
    if (text(marked(`${char}\u200d\u{1f467}`)) !== left(code)) expect.fail(`U+${code.toString(16)} before a joiner`);
    if (text(marked(`\u{1f469}\u200d${char}`)) !== right(code)) expect.fail(`U+${code.toString(16)} behind a joiner`);
  }
});
