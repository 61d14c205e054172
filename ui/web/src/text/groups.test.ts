import { expect, test } from "vitest";
import { groups } from "./groups";

test("equal ones are one group, and the largest is first", () => {
  expect(groups(["a", "b", "b", "c"], (s) => s)).toEqual([
    { key: "b", items: ["b", "b"] },
    { key: "a", items: ["a"] },
    { key: "c", items: ["c"] },
  ]);
  expect(groups([], String)).toEqual([]);
  const many = Array.from({ length: 90_000 }, (_, i) => i);
  expect(groups(many, () => "unsigned")[0]?.items.length).toBe(90_000);
});
