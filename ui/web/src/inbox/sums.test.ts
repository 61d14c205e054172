import { describe, expect, it } from "vitest";
import { sumsOf } from "./sums";

const columns = ["invoice", "account", "amount", "currency"];

describe("sums of a set", () => {
  it("add amounts, also equal ones, and no accounts", () => {
    const rows = [
      ['"INV-1"', "9007199254740993", "20.00", '"EUR"'],
      ['"INV-2"', "70012", "20.00", '"EUR"'],
    ];
    expect(sumsOf(columns, rows)).toEqual([undefined, undefined, "40.00", undefined]);
  });
  it("do not add amounts in two currencies", () => {
    const rows = [
      ['"INV-1"', "70011", "20.00", '"EUR"'],
      ['"INV-2"', "70012", "20.00", '"USD"'],
    ];
    expect(sumsOf(columns, rows)).toEqual([undefined, undefined, undefined, undefined]);
    expect(sumsOf(columns, rows.slice(1))[2]).toBe("20.00");
  });
});
