import { describe, expect, it } from "vitest";
import { begin, nextOf, put, renew, rowsOf, type Page } from "./order";

const row = (thread: string, at: number) => ({ thread, updatedAt: new Date(at * 60_000).toISOString() });
const page = (next: string | undefined, ...items: [string, number][]): Page<{ thread: string; updatedAt: string }> => ({
  items: items.map(([t, at]) => row(t, at)),
  next,
});
const names = (l: ReturnType<typeof begin>) => rowsOf(l).rows.map((r) => r.thread);

describe("listing", () => {
  const first = page("c", ["a", 9], ["b", 8], ["c", 7]);
  const second = page("f", ["d", 6], ["e", 5], ["f", 4]);
  it("goes on after the first page", () => {
    const l = put(begin(first), 0, second);
    expect(names(l)).toEqual(["a", "b", "c", "d", "e", "f"]);
    expect(nextOf(l)).toBe("f");
    expect(nextOf(put(l, 1, page(undefined, ["g", 3])))).toBe(undefined);
  });
  it("keeps what newer threads push out of the first page", () => {
    const l = renew(put(begin(first), 0, second), page("b", ["n", 10], ["a", 9], ["b", 8]));
    expect(names(l)).toEqual(["n", "a", "b", "c", "d", "e", "f"]);
    const later = renew(l, page("n", ["e", 12], ["o", 11], ["n", 10]));
    expect(names(later)).toEqual(["e", "o", "n", "a", "b", "c", "d", "f"]);
  });
  it("leaves out what left the list", () => {
    const l = renew(put(begin(first), 0, second), page("d", ["a", 9], ["c", 7], ["d", 6]));
    expect(names(l)).toEqual(["a", "c", "d", "e", "f"]);
    const read = put(l, 0, page("f", ["d", 6], ["f", 4]));
    expect(names(read)).toEqual(["a", "c", "d", "f"]);
    expect(names(renew(begin(first), page(undefined, ["b", 8])))).toEqual(["b"]);
    expect(names(renew(put(begin(first), 0, second), page(undefined)))).toEqual(["d", "e", "f"]);
  });
  it("begins with the first page alone while nothing else was read", () => {
    const l = renew(begin(first), page("b", ["n", 10], ["a", 9], ["b", 8]));
    expect(names(l)).toEqual(["n", "a", "b"]);
    expect(nextOf(l)).toBe("b");
  });
});
