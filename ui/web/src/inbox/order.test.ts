import { describe, expect, it } from "vitest";
import type { Gate } from "../api/client";
import { grouped, Seen } from "./order";

const gate = (id: string, name: string, expiresAt?: string, kind?: string) =>
  ({ id, name, expiresAt, createdAt: id, kind }) as Gate;
const shape = (groups: ReturnType<typeof grouped>) => groups.map((g) => [g.name, g.gates.map((x) => x.id)]);

describe("the inbox", () => {
  it("puts the question with the earliest deadline first, and those without one last", () => {
    const all = [gate("1", "b"), gate("2", "a", "2026-02-01"), gate("3", "b", "2026-01-01"), gate("4", "c")];
    expect(shape(grouped(all, false))).toEqual([
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
  it("moves no group and no row while the reader does not move, and has sessions on top", () => {
    const seen = new Seen();
    const first = [gate("1", "a", "2026-02-01"), gate("2", "b", "2026-03-01")];
    const show = (list: Gate[]) => shape(grouped(seen.merge(list).gates, false, seen.rankOf));
    expect(show(first)).toEqual([
      ["a", ["1"]],
      ["b", ["2"]],
    ]);
    // The first expired, and what came since is due sooner than all others.
    const later = [gate("2", "b", "2026-03-01"), gate("3", "b", "2026-01-01"), gate("4", "c", "2026-01-01")];
    expect(show(later)).toEqual([
      ["a", ["1"]],
      ["b", ["2", "3"]],
      ["c", ["4"]],
    ]);
    expect(show([...later, gate("5", "d", "2026-09-01", "session")])[0]).toEqual(["d", ["5"]]);
    expect(seen.settle()).toBe(true);
    expect(show(later).map(([name]) => name)).toEqual(["d", "b", "c", "a"]);
    expect(seen.settle()).toBe(false);
  });
});

it("an unknown outcome is first, whatever the deadlines", () => {
  const one = (id: string, kind: string, expiresAt?: string) => ({ id, name: id, kind, expiresAt }) as never;
  const all = [one("a", "approval", "2026-01-01T00:00:00Z"), one("s", "session"), one("u", "outcome")];
  expect(grouped(all, false).map((g) => g.name)).toEqual(["u", "s", "a"]);
});
