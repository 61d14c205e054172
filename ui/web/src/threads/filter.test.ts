import { describe, expect, it } from "vitest";
import { addressOf, filterOf, isCounted, labelFault, paramsOf, standing, typed } from "./filter";

describe("filter", () => {
  it("is what its address says", () => {
    for (const f of [
      {},
      { status: "failed" as const },
      { status: "saved" as const },
      { q: "a b&c=%41", program: "refund/é", label: "team=a=b" },
      { released: true, program: "refund" },
      { unknown: true, node: "read<br/>", version: "6f" },
      { by: "alice & bob", since: "2026-11-20", until: "2026-11-21" },
    ]) {
      expect(filterOf(addressOf(f).replace("/threads", ""))).toEqual(f);
    }
    expect(filterOf("?status=nope&q=&unknown=true&other=1&since=soon&until=2026-1-1")).toEqual({});
  });
  it("is sent as the API takes it", () => {
    expect(paramsOf({ program: "refund", q: "a" })).toEqual({ graph: "refund", q: "a" });
    expect(isCounted({ q: "a" })).toBe(true);
    expect(paramsOf({ released: true })).toEqual({ released: true });
    expect(isCounted({ node: "a" })).toBe(false);
    expect(isCounted({ released: true })).toBe(false);
    expect(isCounted({ by: "alice" })).toBe(false);
    const { since, until } = paramsOf({ since: "2026-11-20", until: "2026-11-20" });
    expect(Date.parse(until ?? "") - Date.parse(since ?? "")).toBe(24 * 3600 * 1000); // the whole day
  });
  it("has a word for a thread without a status", () => {
    expect(standing({ status: "done", branches: [1] })).toBe("done");
    expect(standing({ status: "", branches: [1] })).toBe("saved");
    expect(standing({ status: "", releases: 2 })).toBe("archived");
    expect(standing({ status: "" })).toBe("");
  });
  it("says why a text is no label", () => {
    expect(labelFault("nolabel")).toBe('A label is written as name=value: "nolabel" has no =.');
    expect(labelFault("a=b")).toBe("");
    expect(labelFault(" ")).toBe("");
  });
  it("takes name=value as a label", () => {
    expect(typed(" team = blue ")).toEqual({ label: "team=blue" });
    expect(typed("=x")).toEqual({ q: "=x" });
    expect(typed("  ")).toEqual({});
  });
});
