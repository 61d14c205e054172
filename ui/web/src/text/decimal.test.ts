import { describe, expect, it } from "vitest";
import { sumOf } from "./decimal";

describe("sumOf", () => {
  it("adds exactly, with the places that were given", () => {
    expect(sumOf(["0.1", "0.2"])).toBe("0.3");
    expect(sumOf(["9007199254740993", "0.01"])).toBe("9007199254740993.01");
    expect(sumOf(["1.50", "-2.5"])).toBe("-1.00");
    expect(sumOf(["-0.05", "0.05"])).toBe("0.00");
    expect(sumOf(["7", "8.5"])).toBe("15.5");
  });
  it("adds nothing that is no plain decimal, and no whole numbers", () => {
    for (const bad of [[], ["1e3"], ["1", '"2"'], ["1.", "2"], ["7", "8"]]) expect(sumOf(bad)).toBeUndefined();
  });
});
