import { describe, expect, it } from "vitest";
import { compact, fill, keep, pretty, read, texts } from "./json";

/** random returns a pseudo-random number below n, the same for each run of the tests. */
let seed = 42;
const random = (n: number) => {
  seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
  return seed % n;
};
const pick = <T>(...of: T[]): T => of[random(of.length)] as T;

function text(): string {
  let s = "";
  for (let n = random(4); n > 0; n--) {
    s += pick(
      "a",
      "é",
      "\\u00e9",
      '\\"',
      "\\\\",
      "\\/",
      "\\n",
      "\\u0026",
      "&",
      "<",
      "\u2028",
      "😀",
      "\\ud83d\\ude00",
      "]",
      "}",
      ",",
      ":",
      "__proto__",
    );
  }
  return `"${s}"`;
}

function randomJSON(depth: number): string {
  const space = () => pick("", "", "", " ", "\n\t", "\r\n");
  const kind = random(depth === 0 ? 4 : 6);
  if (kind === 0) return pick("null", "true", "false");
  if (kind === 1)
    return pick("0", "-0", "1.0", "1e400", "-1E-400", "9007199254740993", "12345678901234567890.12", "1e+2", "0.1");
  if (kind < 4) return text();
  const parts = Array.from({ length: random(4) }, () => {
    const value = space() + randomJSON(depth - 1) + space();
    return kind === 4 ? `${space()}${text()}${space()}:${value}` : value;
  });
  return kind === 4 ? `{${parts.join(",")}${space()}}` : `[${parts.join(",")}${space()}]`;
}

/** squeezed returns a JSON text without the spaces between its tokens. */
const squeezed = (json: string) => json.replace(/("(?:\\.|[^"\\])*")|\s+/g, (_, string?: string) => string ?? "");

describe("json", () => {
  const fixed = [
    "{}",
    " [ ] ",
    '{"a":1,"a":2.0}',
    '"\\\\"',
    '"\\\\\\""',
    '[[[]],{"":{}}]',
    '{\n"\\u0026" :\t1e400 }',
    '"\\ud800"',
  ];
  it("gives back each token as it was", () => {
    for (const json of [
      ...fixed,
      "[".repeat(500) + "]".repeat(500),
      ...Array.from({ length: 3000 }, () => randomJSON(4)),
    ]) {
      const tree = read(json);
      expect(compact(tree)).toBe(squeezed(json));
      const shown = pretty(tree);
      expect(JSON.stringify(JSON.parse(shown))).toBe(JSON.stringify(JSON.parse(json)));
      expect(compact(keep(read(shown), tree))).toBe(squeezed(json));
    }
  });
  it("refuses what is no JSON", () => {
    for (const bad of ["", "{", '{"a":}', "01", "[1,]", '{"a":1} x', "nul"])
      expect(() => read(bad)).toThrow(SyntaxError);
  });
  it("fills an edit by the schema", () => {
    const schema = read(
      '{"type":"object","properties":{"amount":{"type":"number"},"currency":{"default":"EUR"}},"required":["amount","currency"],"additionalProperties":false}',
    );
    expect(compact(fill(read('{"question":"how much?"}'), schema) ?? schema)).toBe('{"amount":null,"currency":"EUR"}');
  });
  it("finds all texts", () => expect(texts(read('{"a":["b",{"c":1}]}'))).toEqual(["a", "b", "c"]));
});
