import { describe, expect, it } from "vitest";
import { read } from "../text/json";
import { bodyOf, emptyOf, inputOf, isBegun, isEmpty, lackOf, lacksOf, nothingFilled, refusedOf, sending } from "./fill";

const schema = read(
  '{"type":"object","required":["Number","Amount"],"properties":{"Number":{"type":"string"},"Amount":{"type":"number"},' +
    '"Lines":{"type":"array","items":{"type":"object","properties":{"Price":{"type":"number"}}}},"Note":{"type":"string"},"By":{"type":"string"}}}',
);
const open = read(
  '{"type":"object","properties":{"A":{"type":"string"},"B":{},"C":{},"D":{},"E":{"type":"number"},"F":{}}}',
);

describe("a form of a run", () => {
  it("names each field that is needed, and each that is wrong", () => {
    expect(lackOf(lacksOf(undefined, schema), schema)).toBe("“Number” needs a value; “Amount” needs a value.");
    const wrong = read('{"Number":"7","Amount":"1,5","Lines":[{"Price":1},{"Price":"x"}]}');
    expect(lackOf(lacksOf(wrong, schema), schema)).toBe(
      "“Amount” must be a number, with a point as in 12.50; “Lines”, entry 2, “Price” must be a number, with a point as in 12.50.",
    );
    expect(lackOf(lacksOf(undefined, read('{"type":"string"}')), undefined)).toBe("The input needs a value.");
    expect(lacksOf(undefined, undefined)).toEqual([]);
  });
  it("says that nothing is filled in where nothing is needed", () => {
    expect(lacksOf(undefined, open)).toEqual([]);
    expect(isEmpty(undefined, open)).toBe(true);
    expect(isEmpty(read('{"A":""}'), open)).toBe(false);
    expect(isEmpty(undefined, read('{"type":"object","properties":{}}'))).toBe(false);
    expect(emptyOf(open)).toBe("Nothing is filled in. The program takes “A”, “B”, “C”, “D” and 2 more.");
  });
  it("makes one request of one filled form", () => {
    const body = (id: string) => JSON.stringify(bodyOf(inputOf(undefined, open), { ...nothingFilled, id }));
    expect(body(" a ")).toBe('{"input":"{}","id":"a"}');
    const first = sending(undefined, body("a"));
    expect(sending(first, body("a"))).toBe(first); // again, or a lost answer: the same key
    expect(sending(first, body("b")).key).not.toBe(first.key);
    const run = { thread: "a" } as never;
    expect(isBegun({ ...first, run }, body("a"))).toBe(true);
    expect(isBegun({ ...first, run }, body("b"))).toBe(false);
    expect(isBegun(first, body("a"))).toBe(false);
  });
  it("sends labels with a name, and a time that is one", () => {
    const labels = [
      { name: " team ", value: "blue" },
      { name: " ", value: "x" },
    ];
    expect(bodyOf(undefined, { id: "", labels, when: "nonsense" })).toEqual({ labels: { team: "blue" } });
    expect(bodyOf(undefined, { id: "", labels: [], when: "2026-12-01T08:00:00Z" })).toEqual({
      startAt: "2026-12-01T08:00:00.000Z",
    });
  });
  it("puts what the server refused at its field", () => {
    expect(refusedOf("input.Lines[1].Price", "input.Lines[1].Price must be a number, not text")).toEqual([
      { path: "/Lines/1/Price", says: "must be a number, not text" },
    ]);
    expect(refusedOf("input", "input must be an object")).toEqual([]);
    expect(refusedOf("id", "id exists")).toEqual([]);
    expect(refusedOf(undefined, "x")).toEqual([]);
  });
});
