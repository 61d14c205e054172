import { describe, expect, it } from "vitest";
import { compact, read } from "../text/json";
import { blank, complete, given, needed } from "./blank";

const schema = read(
  '{"type":"object","required":["a"],"properties":{"a":{"type":"string"},"n":{"type":"integer","default":3},' +
    '"list":{"type":["array","null"]},"o":{"type":"object","properties":{"x":{"type":"number"}}},"any":{}}}',
);

const text = (json: string, bare = true) => {
  const some = given(complete(json ? read(json) : undefined, schema), bare);
  return some && compact(some);
};

describe("blank", () => {
  it("has a place for each member, and sends none that is not given", () => {
    const b = blank(schema);
    expect(b.kind === "object" && b.members.map((m) => m.name)).toEqual(["a", "n", "list", "o", "any"]);
    expect(text("")).toBe('{"n":3}');
    expect(needed(schema, "a")).toBe(true);
    expect(needed(schema, "n")).toBe(false);
  });
  it("keeps what a value has, also what the schema does not know", () => {
    expect(text('{"o":{"x":9007199254740993},"z":1.0,"a":"\\u0061"}')).toBe(
      '{"a":"\\u0061","n":3,"o":{"x":9007199254740993},"z":1.0}',
    );
    expect(text('{"list":[1,null]}')).toBe('{"n":3,"list":[1,null]}');
    expect(text("7")).toBe("7");
  });
  it("ends with a schema that has itself as a part", () => {
    let deep = "{}";
    for (let i = 0; i < 20; i++) deep = `{"type":"object","properties":{"a":${deep}}}`;
    expect(given(blank(read(deep)))).toBe(undefined);
  });
  it("changes nothing of a value without a schema", () => {
    for (const json of ["[]", "{}", '{"a":[],"b":{}}', '""', "null"]) {
      const some = given(read(json));
      expect(some && compact(some)).toBe(json);
    }
  });
});
