import { describe, expect, it } from "vitest";
import type { Gate } from "../api/client";
import { reasons, takes, together, whyNot } from "./together";

const now = Date.parse("2026-02-01T00:00:00Z");
const gate = (id: string, more: Partial<Gate> = {}) =>
  ({
    id,
    name: "refund",
    kind: "approval",
    binding: [{ name: "amount", label: "amount", value: "1" }],
    verdicts: ["approve", "reject"],
    may: ["approve", "reject"],
    ...more,
  }) as Gate;

describe("deciding together", () => {
  it("leaves out no question without saying why", () => {
    const all = [
      gate("1"),
      gate("2"),
      gate("own", { may: ["reject"], barred: "ann asked for this and cannot approve it" }),
      gate("over", { expiresAt: "2026-01-31T23:59:59Z" }),
      gate("other", { binding: [] }),
      gate("schema", { schema: "{}" }),
      gate("hidden", { payload: '{"to":"a\\u202eb"}' }),
      gate("answer", { verdicts: ["respond"], may: ["respond"] }),
      gate("barred", { may: [], barred: "ann is not among those this gate is assigned to" }),
      gate("session", { kind: "session" }),
      gate("unknown", { kind: "outcome" }),
      gate("unread", { error: { detail: "" } as Gate["error"], may: [] }),
    ];
    const { set, left } = together(all, now);
    expect(set.map((g) => g.id)).toEqual(["1", "2", "own"]);
    expect(left.map((l) => [l.gate.id, l.why])).toEqual([
      ["over", "its deadline has passed"],
      ["other", "it has other values"],
      ["schema", "it has other rules for its values"],
      ["hidden", "it has characters that are not seen"],
      ["answer", "it asks for an answer of its own"],
      ["barred", "ann is not among those this gate is assigned to"],
      ["session", "its caller waits on a connection"],
      ["unknown", "what became of an effect is looked up one by one"],
      ["unread", "it cannot be read"],
    ]);
    expect(set.length + left.length).toBe(all.length);
  });
  it("leaves out what two branches of a thread ask: both would be done", () => {
    const of = (id: string, thread: string, branch: string) => gate(id, { thread, branch });
    const all = [
      of("1", "a", "main"),
      of("2", "a", "fork-1"),
      of("3", "b", "main"),
      of("4", "c", "main"),
      of("5", "d", "main"),
    ];
    const { set, left } = together(all, now, new Set(["5"]));
    expect(set.map((g) => g.id)).toEqual(["3", "4"]);
    expect(reasons(left)).toBe("3: another branch or thread asks, or did, the same");
  });
  it("says for which of them a verdict works", () => {
    const own = gate("own", { may: ["reject"], barred: "you asked" });
    expect([takes(own, "approve", now), takes(own, "reject", now)]).toEqual([false, true]);
    expect(whyNot(own, "approve", now)).toBe("you asked");
    expect(whyNot(gate("x", { verdicts: ["approve"], may: ["approve"] }), "reject", now)).toBe("it takes no reject");
    expect(whyNot(gate("x", { expiresAt: "2026-01-01" }), "reject", now)).toBe("its deadline has passed");
    expect(reasons([{ why: "a" }, { why: "b" }, { why: "a" }])).toBe("2: a; 1: b");
  });
  it("has no set of one, nor of two that take no verdict in common", () => {
    expect(together([gate("1"), gate("2", { binding: [] })], now).set).toEqual([]);
    expect(together([gate("1", { may: ["approve"] }), gate("2", { may: ["reject"] })], now).set).toEqual([]);
  });
});
