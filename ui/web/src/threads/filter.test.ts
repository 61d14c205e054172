import { describe, expect, it } from "vitest";
import { addressOf, filterOf, isCounted, paramsOf, standing, typed } from "./filter";

describe("filter", () => {
  it("is what its address says", () => {
    for (const f of [
      {},
      { status: "failed" as const },
      { status: "saved" as const },
      { q: "a b&c=%41", program: "refund/é", label: "team=a=b" },
      { unknown: true, node: "read<br/>", version: "6f" },
    ]) {
      expect(filterOf(addressOf(f).replace("/threads", ""))).toEqual(f);
    }
    expect(filterOf("?status=nope&q=&unknown=true&other=1")).toEqual({});
  });
  it("is sent as the API takes it", () => {
    expect(paramsOf({ program: "refund", q: "a" })).toEqual({ graph: "refund", q: "a" });
    expect(isCounted({ q: "a" })).toBe(true);
    expect(isCounted({ node: "a" })).toBe(false);
  });
  it("has a word for a thread without a status", () => {
    expect(standing({ status: "done", branches: [1] })).toBe("done");
    expect(standing({ status: "", branches: [1] })).toBe("saved");
    expect(standing({ status: "", releases: 2 })).toBe("archived");
    expect(standing({ status: "" })).toBe("");
  });
  it("takes name=value as a label", () => {
    expect(typed(" team = blue ")).toEqual({ label: "team=blue" });
    expect(typed("=x")).toEqual({ q: "=x" });
    expect(typed("  ")).toEqual({});
  });
});
