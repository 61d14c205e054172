import { expect, test } from "vitest";
import { programOf, programPath } from "./address";

test("a program of any name has an address that leads back to it", () => {
  for (const name of ["refund", "a/b", "100%", "%2F", ".", "..", "-", "Zürich ☃", "a?b#c", "a+b"]) {
    const url = new URL(programPath(name), "http://h");
    expect(programOf(url.pathname, url.search), name).toBe(name);
  }
});
