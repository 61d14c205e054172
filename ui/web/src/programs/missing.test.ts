import { expect, test } from "vitest";
import { missing } from "./missing";

const served = [{ name: "refund" }];

test("a thread that waits for a program that is not served says which", () => {
  expect(missing({ graph: "invoice", status: "waiting" }, served)).toBe("invoice");
  expect(missing({ graph: "invoice", status: "failed" }, [])).toBe("invoice");
});

test("a thread that goes on here, has ended, or needs no program is not told of", () => {
  expect(missing({ graph: "refund", status: "waiting" }, served)).toBe("");
  expect(missing({ graph: "invoice", status: "done" }, served)).toBe("");
  expect(missing({ graph: "invoice", status: "cancelled" }, served)).toBe("");
  expect(missing({ graph: "posthouse.task", status: "waiting" }, served)).toBe("");
  expect(missing({ status: "waiting" }, served)).toBe("");
});
