import { expect, test } from "vitest";
import { spoken } from "./spoken";

test("a text that ends in a newline is shown as text, with the newline marked", () => {
  expect(spoken("Dear Mrs Schmidt,\n\nthe lamp is on its way.\n")).toBe(
    "Dear Mrs Schmidt,\n\nthe lamp is on its way.‹newline›",
  );
  expect(spoken("\n\tcode\n\n")).toBe("‹newline›‹tab›code‹newline›‹newline›");
  expect(spoken(" Bob ")).toBe("‹space›Bob‹space›");
  expect(spoken("Bob\u00a0")).toBe("Bob‹U+00A0›");
  expect(spoken("12.30\n")).toBe("12.30‹newline›");
});

test("what could be taken for something else keeps its quotes", () => {
  for (const text of ["", " ", "\n", "12.30", "true", "null", '{"a":1}', "[1]", '"x"'])
    expect(spoken(text)).toBe(JSON.stringify(text));
  expect(spoken("12.30 EUR")).toBe("12.30 EUR");
});
