import { expect, test } from "vitest";
import { entryOf, searchOf, threadOf, threadPath, whereOf } from "./address";

test("an address says where one is, and leaves out what is not said", () => {
  expect(whereOf("?at=a&with=b&tab=compare&branch=x%20y&draft=yes")).toEqual({
    at: "a",
    with: "b",
    tab: "compare",
    branch: "x y",
    draft: true,
  });
  expect(whereOf("?tab=nosuch&draft=1")).toEqual({ tab: "change" });
  expect(searchOf("?at=a&tab=state&theme=x", { tab: "change", at: undefined })).toBe("theme=x");
  expect(whereOf("?rows=44-84&version=2")).toEqual({ tab: "change", rows: [44, 84], version: "2" });
  expect(whereOf("?rows=44-x")).toEqual({ tab: "change" });
  expect(searchOf("?rows=44-84&version=2", { rows: undefined, at: "a" })).toBe("version=2&at=a");
  expect(searchOf("", { rows: [1, 5] })).toBe("rows=1-5");
  expect(searchOf("", { draft: true, at: "a" })).toBe("at=a&draft=yes");
});

test("a thread of any name has an address that leads back to it", () => {
  for (const name of ["order-1", "a/b", "100%", "%2F", ".", "..", "-", "Zürich ☃", "a?b#c", "a+b"]) {
    const url = new URL(threadPath(name, { at: "x" }), "http://h");
    expect(threadOf(url.pathname, url.search), name).toBe(name);
    expect(whereOf(url.search).at).toBe("x");
  }
});

test("the number of an entry is told from an id", () => {
  expect(["6", "#6", "0"].map(entryOf)).toEqual([6, 6, 0]);
  for (const at of [undefined, "", "6a", "-6", "6.5", "01a20519-06ef-7003-8c6b-25b7ca75f020", "1".repeat(32)])
    expect(entryOf(at), at).toBeUndefined();
});
