import { describe, expect, it } from "vitest";
import type { Gate } from "../api/client";
import { grouped, Seen } from "./order";

const gate = (id: string, name: string, expiresAt?: string) => ({ id, name, expiresAt, createdAt: id }) as Gate;

describe("the inbox", () => {
  it("puts the question with the earliest deadline first, and those without one last", () => {
    const groups = grouped(
      [gate("1", "b"), gate("2", "a", "2026-02-01"), gate("3", "b", "2026-01-01"), gate("4", "c")],
      false,
    );
    expect(groups.map((g) => [g.name, g.gates.map((x) => x.id)])).toEqual([
      ["b", ["3", "1"]],
      ["a", ["2"]],
      ["c", ["4"]],
    ]);
  });
  it("keeps what is gone in its place", () => {
    const seen = new Seen();
    seen.merge([gate("1", "a"), gate("2", "a")]);
    const { gates, gone } = seen.merge([gate("2", "a"), gate("3", "a")]);
    expect(gates.map((g) => g.id)).toEqual(["1", "2", "3"]);
    expect([...gone]).toEqual(["1"]);
  });
});
