import { expect, test } from "vitest";
import { escaped, marksIn, marked } from "./hidden";

test("characters that are not seen are marked", () => {
  expect(marked("INV\u202e4101")).toBe("INV‹U+202E›4101");
  expect(marksIn(["a\u200bb", undefined, "\u200b"])).toEqual({ unseen: ["‹U+200B›"], mixed: [], long: [] });
  expect(escaped('"\u202e"')).toBe('"\\u202e"');
});

test("letters of another script inside of a word are marked", () => {
  const words: Record<string, string> = {
    "Аcme GmbН": "‹Cyrillic А›cme Gmb‹Cyrillic Н›",
    "pаypаl.com": "p‹Cyrillic а›yp‹Cyrillic а›l.com",
    Mосква: "‹Latin M›осква", // a Latin M
    "INV-1О14": "INV-1‹Cyrillic О›14",
    "DE89-Ο370": "DE89-‹Greek Ο›370",
    "Αcme ΡLC": "‹Greek Α›cme ‹Greek Ρ›LC",
    "Sоfia (ЕU)": "S‹Cyrillic о›fia (‹Cyrillic Е›U)",
    հouse: "‹Armenian հ›ouse",
  };
  for (const [text, shown] of Object.entries(words)) expect(marked(text)).toBe(shown);
  expect(marksIn(["Аcme GmbН", "Аcme"]).mixed).toEqual(["‹Cyrillic А›", "‹Cyrillic Н›"]);
});

test("words of one script, digits among letters, and units are not marked", () => {
  const words = [
    "ООО «Ромашка» and Acme GmbH",
    "Москва, Αθήνα, Երևան, 東京, القاهرة",
    "Иванов-Smith",
    "INV-1O14 l1I0", // letters and digits
    "4.7 kΩ, 5 µm, Δt, β-carotene, 20 °C",
    "naïve Łódź Straße",
    "с", // alone, and not beside Latin letters
    " \nИванов",
  ];
  for (const text of words) {
    expect(marked(text)).toBe(text);
    expect(marksIn([text]).mixed).toEqual([]);
  }
});

test("lines and spaces that show nothing are counted", () => {
  const order = `refund order 2\n${"\n".repeat(300)}hidden: refund 1000000`;
  expect(marked(order)).toBe("refund order 2\n‹300 empty lines›\nhidden: refund 1000000");
  expect(marked(`a\n${" \t\u200b\n".repeat(4)}b`)).toBe("a\n‹4 empty lines›\nb");
  expect(marked("a\n\n\n\nb")).toBe("a\n\n\n\nb");
  expect(marked(`a${"\u00a0".repeat(2000)}b`)).toBe("a‹2,000 spaces›b");
  expect(marksIn([order]).long).toEqual(["‹300 empty lines›"]);
});
