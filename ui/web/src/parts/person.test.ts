import { expect, test } from "vitest";
import type { Known } from "../data/people";
import { fault, offered, says } from "./person";

const yes: Known = { name: "bob", known: ["token", "decided"], decides: "yes" };
const asker: Known = {
  name: "alice",
  known: ["decided"],
  decides: "yes",
  barred: "alice asked for this and cannot be given it",
};
const viewer: Known = {
  name: "vera",
  known: ["token"],
  decides: "no",
  why: "vera has the role viewer and cannot decide",
};
const typo: Known = {
  name: "nobody-xyz",
  known: [],
  decides: "unknown",
  why: "there is no access token with the name nobody-xyz",
};

test("those who may decide come first, and the others say why not", () => {
  const { shown, more } = offered([asker, viewer, typo, yes], "", 3);
  expect(shown.map((p) => p.name)).toEqual(["bob", "nobody-xyz", "alice"]);
  expect(more).toBe(1);
  expect(says(yes)).toBe("has an access token, decided before");
  expect(says(viewer)).toContain("role viewer");
  expect(offered([asker, viewer, yes], "VER", 9).shown).toEqual([viewer]);
});

test("a name that may not have it is refused, one that is not known is confirmed twice", () => {
  expect(fault("", undefined, false, "").says).not.toBe("");
  expect(fault("bob", undefined, true, "").says).toContain("looked up");
  expect(fault("bob", yes, false, "").says).toBe("");
  expect(fault("alice", asker, false, "alice").says).toContain("asked for this");
  expect(fault("vera", viewer, false, "vera").says).toContain("viewer");
  expect(fault("nobody-xyz", typo, false, "")).toMatchObject({ ask: true });
  expect(fault("nobody-xyz", typo, false, "another").ask).toBe(true);
  expect(fault("nobody-xyz", typo, false, "nobody-xyz").says).toBe("");
  expect(fault("bob", undefined, false, "")).toMatchObject({ ask: true });
});
