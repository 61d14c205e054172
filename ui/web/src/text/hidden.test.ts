import { expect, test } from "vitest";
import cases from "../../../../internal/base/text/testdata/shown.json";
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
