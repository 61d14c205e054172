import { expect, test } from "vitest";
import { read } from "../text/json";
import { at, beginCommand } from "./begin";

const usual = "http://127.0.0.1:8095";

test("a command begins a run with JSON of the program's own schema", () => {
  expect(beginCommand("dispatch", read('{"type":"string"}'), usual)).toBe(`posthouse run start dispatch '"a request"'`);
  const order = read('{"type":"object","properties":{"Order":{"type":"string"},"Amount":{"type":["null","number"]}}}');
  expect(beginCommand("refund", order, usual)).toBe(`posthouse run start refund '{"Order":"a request","Amount":0}'`);
  expect(beginCommand("tick", undefined, usual)).toBe("posthouse run start tick null");
});

test("a command names the server where it is not the usual one, and quotes what a shell would read", () => {
  expect(beginCommand("tick", undefined, "https://desk.example:8443")).toBe(
    "posthouse run start tick null --server https://desk.example:8443",
  );
  expect(beginCommand("it's; rm -rf /", undefined, usual)).toBe(`posthouse run start 'it'\\''s; rm -rf /' null`);
  expect(at(usual)).toBe("");
});
