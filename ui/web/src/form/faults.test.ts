import { describe, expect, it } from "vitest";
import { read } from "../text/json";
import { absent } from "./blank";
import { faultsOf } from "./faults";

const schema = read(
  '{"type":"object","additionalProperties":false,"required":["focus","amount","ok"],"properties":{' +
    '"focus":{"enum":["costs","risks"]},"amount":{"type":"number","exclusiveMinimum":0,"maximum":500},"ok":{"type":"boolean"},' +
    '"invoice":{"type":"string","pattern":"^INV-[0-9]+$"},"n":{"type":"integer"},"list":{"type":"array","minItems":1,"items":{"type":"string"}}}}',
);

const says = (json: string) => faultsOf(read(json), schema).map((f) => `${f.path} ${f.says}`);

describe("what a value lacks", () => {
  it("names each field in which nothing is chosen or typed", () => {
    expect(says('{"focus":null,"amount":null}')).toEqual([
      "/focus choose one",
      "/amount needs a value",
      "/ok choose yes or no",
    ]);
    expect(faultsOf(absent, schema)).toEqual([{ path: "", says: "needs a value", missing: true }]);
    expect(faultsOf(undefined, undefined)).toEqual([{ path: "", says: "needs a value", missing: true }]);
    expect(faultsOf(read('""'), undefined)).toEqual([]);
  });
  it("says what is wanted in place of what was typed", () => {
    const rest = '"focus":"costs","ok":true';
    expect(says(`{${rest},"amount":1.5,"invoice":"INV-7","n":3,"list":["a"]}`)).toEqual([]);
    expect(says(`{${rest},"amount":0}`)).toEqual(["/amount must be more than 0"]);
    expect(says(`{${rest},"amount":500.01}`)).toEqual(["/amount must be 500 at most"]);
    expect(says(`{${rest},"amount":"1"}`)).toEqual(["/amount must be a number, with a point as in 12.50"]);
    expect(says(`{${rest},"amount":1,"n":1.5}`)).toEqual(["/n must be a whole number, with digits only"]);
    expect(says(`{${rest},"amount":1,"n":1.0}`)).toEqual([]);
    expect(says(`{${rest},"amount":1,"invoice":"7"}`)).toEqual(["/invoice must fit ^INV-[0-9]+$"]);
    expect(says(`{${rest},"amount":1,"list":[]}`)).toEqual(["/list needs 1 entries or more, and has 0"]);
    expect(says(`{${rest},"amount":1,"list":["a",2]}`)).toEqual(["/list/1 must be a text"]);
    expect(says(`{${rest},"amount":1,"z/y":2}`)).toEqual(["/z~1y is not one of its members"]);
    expect(says('{"focus":"x","ok":false,"amount":1}')).toEqual(["/focus is none of those that can be chosen"]);
  });
  it("takes a text that is no JSON for what it is", () => {
    const typed = faultsOf({ kind: "text", source: "12,50" }, read('{"type":"number"}'));
    expect(typed).toEqual([{ path: "", says: "must be a number, with a point as in 12.50" }]);
  });
  it("refuses nothing that floats cannot tell apart", () => {
    expect(faultsOf(read("9007199254740993"), read('{"type":"integer","exclusiveMinimum":9007199254740992}'))).toEqual(
      [],
    );
  });
});
