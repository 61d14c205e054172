import { expect, test } from "vitest";
import { diff, excerpt, lines, middle, type Diff } from "./diff";
import { compact, read } from "./json";

/** said writes a diff in one line: = equal, + added, - removed, ~ changed. */
function said(d: Diff): string {
  switch (d.kind) {
    case "same":
      return `=${compact(d.node)}`;
    case "added":
      return `+${compact(d.node)}`;
    case "removed":
      return `-${compact(d.node)}`;
    case "changed":
      return `${compact(d.a)}~${compact(d.b)}`;
    case "object":
      return `{${d.members.map((m) => `${m.name} ${said(m.diff)}`).join(", ")}}`;
    case "array":
      return `[${d.rows.map((r) => (r.kind === "equal" ? `=${r.items.length}@${r.from}` : `${r.at} ${said(r.diff)}`)).join(", ")}]`;
  }
}

const of = (a: string, b: string) => said(diff(read(a), read(b)));

test("values differ by their text on record", () => {
  expect(of("1.0", "1")).toBe("1.0~1");
  expect(of("9007199254740993", "9007199254740992")).toBe("9007199254740993~9007199254740992");
  expect(of('{"a":1 }', '{ "a":1}')).toBe('={"a":1}');
});

test("members keep their order, and those of one name are told apart", () => {
  expect(of('{"b":1,"a":2,"c":3}', '{"c":3,"b":9}')).toBe("{c =3, b 1~9, a -2}");
  expect(of('{"a":1,"a":2}', '{"a":1,"a":3}')).toBe("{a =1, a 2~3}");
  expect(of("{}", '{"__proto__":1}')).toBe("{__proto__ +1}");
  expect(of('{"z":0,"a":1}', '{"a":1}')).toBe("{z -0, a =1}");
});

test("lists are compared by their rows, with what is equal between them", () => {
  expect(of("[1,2,3]", "[1,2,3,4]")).toBe("[=3@0, 3 +4]");
  expect(of("[1,2,3,4]", "[1,9,3,4]")).toBe("[=1@0, 1 2~9, =2@2]");
  expect(of("[1,2,3]", "[0,1,2,3]")).toBe("[0 +0, =3@1]");
  expect(of("[1,2,3,4,5]", "[1,3,5]")).toBe("[=1@0, 1 -2, =1@1, 3 -4, =1@2]");
  expect(of('[{"a":1,"b":2}]', '[{"a":1,"b":3}]')).toBe("[0 {a =1, b 2~3}]");
  expect(of("[]", "[[]]")).toBe("[0 +[]]");
});

test("long lists are compared too", () => {
  const many = Array.from({ length: 3000 }, (_, i) => i);
  const d = diff(read(JSON.stringify(many)), read(JSON.stringify(many.map((n) => (n % 1000 === 500 ? -n : n)))));
  expect(d.kind === "array" && d.rows.map((r) => (r.kind === "equal" ? r.items.length : "x"))).toEqual([
    500,
    "x",
    999,
    "x",
    999,
    "x",
    499,
  ]);
});

test("every row of both lists is told exactly once", () => {
  let seed = 7;
  const next = (n: number) => (seed = (seed * 48271) % 2147483647) % n;
  for (let round = 0; round < 300; round++) {
    const list = () => Array.from({ length: next(9) }, () => next(4));
    const [a, b] = [list(), list()];
    const d = diff(read(JSON.stringify(a)), read(JSON.stringify(b)));
    const rows = d.kind === "array" ? d.rows : [{ kind: "equal" as const, items: read(JSON.stringify(b)), from: 0 }];
    const was: string[] = [];
    const is: string[] = [];
    for (const r of rows) {
      if (r.kind === "equal") {
        const items = Array.isArray(r.items) ? r.items : r.items.kind === "array" ? r.items.items : [];
        was.push(...items.map(compact));
        is.push(...items.map(compact));
      } else if (r.diff.kind === "added") is.push(compact(r.diff.node));
      else if (r.diff.kind === "removed") was.push(compact(r.diff.node));
      else if (r.diff.kind === "changed") {
        was.push(compact(r.diff.a));
        is.push(compact(r.diff.b));
      }
    }
    expect([was.join(), is.join()]).toEqual([a.join(), b.join()]);
  }
});

test("the middle of two texts cuts no character in two", () => {
  expect(middle("abcdef", "abXdef")).toEqual([2, 3]);
  expect(middle("a😀c", "a😁c")).toEqual([1, 1]);
  expect(middle("aa", "aaa")).toEqual([2, 0]);
  expect(middle("😀", "🐀")).toEqual([0, 0]);
});

test("a long text shows where it differs, also at its end", () => {
  const text = "x".repeat(5000);
  const shown = (b: string) => {
    const [start, end] = middle(text, b);
    return excerpt(b, start, end, 2000).map((p) => ("left" in p ? p.left : p.differs ? `[${p.text}]` : p.text.length));
  };
  expect(shown(`${text.slice(1)}!`)).toEqual([4919, 80, "[!]"]);
  expect(shown(`${text.slice(0, 2500)}!${text.slice(2501)}`)).toEqual([2420, 80, "[!]", 80, 2419]);
  expect(shown(`!${text.slice(1)}`)).toEqual(["[!]", 80, 4919]);
  const both = shown(`a${text.slice(2)}b`);
  expect(both).toEqual([expect.stringMatching(/^\[ax{1399}\]$/), 3000, expect.stringMatching(/^\[x{599}b\]$/)]);
  expect(excerpt(`😀${text}`, 0, 0, 2001).map((p) => ("left" in p ? p.left : p.text.length))).toEqual([
    1400, 3002, 600,
  ]);
});

test("texts of several lines are compared line by line", () => {
  expect(lines("a\nb\nc\nd", "a\nB\nc\ne\nd")).toEqual([
    { equal: ["a"] },
    { was: ["b"], is: ["B"] },
    { equal: ["c"] },
    { was: [], is: ["e"] },
    { equal: ["d"] },
  ]);
  expect(lines("a", "a\n")).toEqual([{ equal: ["a"] }, { was: [], is: [""] }]);
  const many = Array.from({ length: 2000 }, (_, i) => `line ${i}`);
  const other = many.map((l) => `${l}!`);
  expect(lines(["same", ...many].join("\n"), ["same", ...other].join("\n"))).toEqual([
    { equal: ["same"] },
    { was: many, is: other },
  ]);
});
