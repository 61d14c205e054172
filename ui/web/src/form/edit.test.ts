import { expect, it } from "vitest";
import { unreadIn } from "./edit";

it("finds the field in which something is that is no JSON", () => {
  const bad = { kind: "text", source: "12,50" } as const;
  const part = { name: "Price", source: '"Price"', value: bad };
  const lines = {
    name: "a/b",
    source: '"a/b"',
    value: { kind: "array", items: [{ kind: "object", members: [part] }] },
  };
  expect(unreadIn({ kind: "object", members: [lines] } as never)).toBe("/a~1b/0/Price");
  expect(unreadIn({ kind: "text", source: "1" })).toBe(undefined);
  expect(unreadIn(bad)).toBe("");
});
