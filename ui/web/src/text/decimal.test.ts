import { describe, expect, it } from "vitest";
import { sum } from "./decimal";

describe("sum", () => {
  it("adds exactly, with the places that were given", () => {
    expect(sum(["0.1", "0.2"])).toBe("0.3");
    expect(sum(["9007199254740993", "0.01"])).toBe("9007199254740993.01");
    expect(sum(["1.50", "-2.5"])).toBe("-1.00");
    expect(sum(["-0.05", "0.05"])).toBe("0.00");
    expect(sum(["7", "8"])).toBe("15");
  });
  it("adds nothing that is no plain decimal", () => {
    for (const bad of [[], ["1e3"], ["1", '"2"'], ["1.", "2"]]) expect(sum(bad)).toBeUndefined();
  });
});
