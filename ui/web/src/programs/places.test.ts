import { expect, it } from "vitest";
import { colourOf, placesOf } from "./places";

it("a node has the colour of what most of those are that need somebody", () => {
  expect(
    colourOf([
      { status: "waiting", count: 5 },
      { status: "failed", count: 1 },
    ]),
  ).toBe("waiting");
  expect(
    colourOf([
      { status: "waiting", count: 1 },
      { status: "running", count: 900 },
      { status: "failed", count: 2 },
    ]),
  ).toBe("failed");
  expect(
    colourOf([
      { status: "running", count: 3 },
      { status: "ready", count: 2 },
    ]),
  ).toBe(undefined);
  expect(colourOf([{ status: "running", count: 3 }])).toBe("running");
  expect(colourOf([])).toBe(undefined);
});

it("a thread with branches of two statuses at a node is one thread there", () => {
  expect(placesOf([{ node: "pay", threads: 2, statuses: { interrupted: 1, failed: 2 } }])).toEqual([
    {
      node: "pay",
      threads: 2,
      by: [
        { status: "failed", count: 2 },
        { status: "interrupted", count: 1 },
      ],
      colour: "failed",
    },
  ]);
});
