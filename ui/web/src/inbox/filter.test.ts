import { describe, expect, it } from "vitest";
import { filterOf } from "./filter";
import { searched, withIt, without } from "./searched";

describe("what the inbox is narrowed to", () => {
  it("is read from an address, and what it does not know is left out", () => {
    const query = new URLSearchParams("show=open&question=pay&requester=bob&label=a%3Db&q=%20x&state=expired&thread=");
    expect(filterOf(query)).toEqual({ question: "pay", requester: "bob", label: "a=b", q: " x" });
  });
  it("takes a label from the search once Enter was pressed", () => {
    expect(searched({ q: "cust" }, "customer=C-1", false)).toEqual({ q: "customer=C-1" });
    expect(searched({ q: "cust", question: "pay" }, " customer = C-1", true)).toEqual({
      question: "pay",
      label: "customer=C-1",
    });
    expect(searched({ q: "a" }, "  ", true)).toEqual({});
    expect(searched({}, "=x", true)).toEqual({ q: "=x" });
  });
  it("adds and leaves out one", () => {
    expect(withIt({ q: "a" }, "thread", " t ")).toEqual({ q: "a", thread: "t" });
    expect(without({ q: "a", thread: "t" }, "thread")).toEqual({ q: "a" });
  });
});
