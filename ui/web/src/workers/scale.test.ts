import { expect, it } from "vitest";
import { scaleOf } from "./scale";

it("a scale ends at a round number, and seldom moves", () => {
  expect([-Infinity, 0, 1, 2, 3, 4, 5, 10, 11, 20, 399, 401, 100_000].map(scaleOf)).toEqual([
    2, 2, 2, 2, 4, 4, 10, 10, 20, 20, 400, 1000, 100_000,
  ]);
});
