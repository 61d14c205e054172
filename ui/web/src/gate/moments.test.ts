import { expect, test } from "vitest";
import { choices } from "./moments";

const thursday = new Date(2026, 10, 26, 14, 30);

test("no choice is after the deadline", () => {
  const names = (hours: number) =>
    choices({ expiresAt: new Date(thursday.getTime() + hours * 3_600_000).toISOString() }, thursday).map((c) => c.name);
  expect(names(0.5)).toEqual([]);
  expect(names(2)).toEqual(["1 hour"]);
  expect(names(20)).toEqual(["1 hour", "4 hours", "tomorrow at 9"]);
  expect(names(200)).toEqual(["1 hour", "4 hours", "tomorrow at 9", "Monday at 9"]);
});

test("Monday is a choice only where it is not tomorrow, and it is the next one", () => {
  const sunday = new Date(2026, 10, 29, 8);
  expect(choices({}, sunday).map((c) => c.name)).not.toContain("Monday at 9");
  const monday = new Date(2026, 10, 30, 8);
  expect(choices({}, monday).at(-1)?.at).toEqual(new Date(2026, 11, 7, 9));
});

test("with its reminder comes back what has one ahead", () => {
  const remind = [new Date(thursday.getTime() + 60_000).toISOString()];
  expect(choices({ remind }, thursday).at(-1)).toEqual({ name: "its reminder" });
  expect(choices({ remind: ["2026-01-01T00:00:00Z"] }, thursday).map((c) => c.name)).not.toContain("its reminder");
});
