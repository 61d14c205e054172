import { expect, test } from "vitest";
import { quoted } from "./quoted";

test("only what somebody typed is in quotation marks", () => {
  expect(quoted("ann", "too late")).toBe("“too late”");
  expect(quoted(undefined, "too late")).toBe("“too late”");
  expect(quoted("posthouse", "the branch went on without it")).toBe("the branch went on without it");
});
