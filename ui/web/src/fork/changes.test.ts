import { expect, test } from "vitest";
import { read } from "../text/json";
import { changesOf } from "./changes";

const of = (was: string, is: string, codecs?: Record<string, string>) => changesOf(read(was), read(is), codecs);

test("a fork sends what differs, as it is written", () => {
  expect(of('{"a":1.00,"b":2}', '{"a":1.00,"b":2}')).toEqual({});
  expect(of('{"a":1.00,"b":2}', '{"a":900719925474099300.10,"b":2}')).toEqual({
    patch: { a: "900719925474099300.10" },
  });
  expect(of('{"a":1}', '{"a":1,"b":[]}')).toEqual({ patch: { b: "[]" } });
});

test("a member that is gone needs the whole state, and what is no JSON keeps its codec", () => {
  expect(of('{"a":1,"b":"AA==","c":"AA=="}', '{"b":"AA=="}', { b: "gob", c: "gob" })).toEqual({
    state: '{"b":"AA=="}',
    codecs: { b: "gob" },
  });
  expect(of('{"b":"AA=="}', '{"b":"AQ=="}', { b: "gob" })).toEqual({ patch: { b: '"AQ=="' }, codecs: { b: "gob" } });
  expect(of('"a"', '"b"')).toEqual({ state: '"b"' });
});
