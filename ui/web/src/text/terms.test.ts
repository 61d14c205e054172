import { expect, test } from "vitest";
import { changesOf, licenseOf, span } from "./terms";

test("a license says how many effects and for how long", () => {
  expect(licenseOf({})).toBe("");
  expect(licenseOf({ uses: 1 })).toBe("an approval licenses 1 effect");
  expect(licenseOf({ uses: 3, validFor: 90 * 86_400e9 })).toBe("an approval licenses 3 effects, for 90 days");
  expect(span(90e9)).toBe("90 seconds");
  expect(span(3_600e9)).toBe("1 hour");
});

test("whose change is asked about is said, and not who asked", () => {
  const requesters = [
    { name: "bob", how: "input" },
    { name: "mallory", how: "patch", what: ["payee"] },
  ] as never;
  expect(changesOf({ requesters })).toEqual(["mallory changed payee (patch)"]);
});
