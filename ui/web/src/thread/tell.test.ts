import { expect, test, vi } from "vitest";
import { kept, type Item, type Row } from "./items";
import { nameOf, retriedOf, stepOf, tagOf, tookOf, wordsOf } from "./tell";

vi.mock("../gate/decide", () => ({ done: (verdict: string) => ({ edit: "edited" })[verdict] ?? verdict }));

const item = (row: Partial<Row>, more: Partial<Item> = {}): Item => ({
  id: "a",
  branch: "main",
  count: 1,
  row: { id: "a", seq: 7, branch: "main", kind: "node", at: "2026-11-21T04:00:10Z", node: "read", ...row },
  ...more,
});

test("a row says how often it was tried again, and why", () => {
  const retried = item({ attempts: 2, tries: 4, line: "two pages", lastError: "overloaded" });
  expect(retriedOf(retried)).toEqual({ times: 3, title: "4 attempts; last error: overloaded" });
  expect(wordsOf(retried)).toBe("two pages · last error: overloaded");
  expect(tagOf(retried, undefined)).toBeUndefined();
  expect(retriedOf(item({ attempts: 1 }))).toBeUndefined();
});

test("a row that waits to be tried again says why", () => {
  const waits = [{ id: "g", name: "$retry-1", kind: "timer", state: "open" as const }];
  expect(wordsOf(item({ asked: waits, lastError: "overloaded" }))).toBe("waits to be tried again: overloaded");
});

test("the error that a thread failed with is said once", () => {
  expect(wordsOf(item({ error: "no account", lastError: "no account" }))).toBe("no account");
});

test("a question that a person edited has that word", () => {
  const asked = [
    { id: "g", name: "pay", kind: "approval", state: "decided" as const, verdict: "edit" as const, by: "dana" },
  ];
  expect(tagOf(item({ asked }), undefined)).toEqual({ state: "edited", by: "dana" });
});

test("a cancel and a fork are no failures, though they hold a reason or an error", () => {
  const cancel = item({ kind: "cancel", status: "cancelled", error: "it turned up" });
  expect(tagOf(cancel, "cancelled")).toEqual({ state: "cancelled" });
  expect(kept.failures(cancel.row)).toBe(false);
  const fork = item({ kind: "fork", status: "interrupted", error: "no answer" });
  expect(tagOf(fork, undefined)).toEqual({ state: "forked" });
  expect(kept.failures(fork.row)).toBe(false);
  expect(tagOf(item({ status: "failed", error: "no answer" }), undefined)).toEqual({ state: "failed" });
});

test("a folded run says how long it went on", () => {
  expect(tookOf(item({}, { count: 9, since: "2026-11-21T03:59:00Z" }))).toBe("1 min");
});

test("the runtime's own records are said in words", () => {
  expect(stepOf("pay>$attempt")).toEqual({ name: "pay", words: "an attempt failed" });
  expect(stepOf("$attempt")).toEqual({ name: "", words: "an attempt failed" });
  expect(stepOf("agent>ask")).toEqual({ name: "ask", words: "" });
});

test("a fork says that it was forked, by whom, from where and before what", () => {
  const fork = item({ kind: "fork", node: "approve", by: "operator", next: ["approve"] }, { from: 6 });
  expect([nameOf(fork.row), wordsOf(fork)]).toEqual(["forked", "by operator from #6, before approve"]);
  const away = item({ kind: "fork", node: "pay", status: "done", by: "operator" }, { foreign: "order-1" });
  expect(wordsOf(away)).toBe("by operator from order-1");
  expect(wordsOf(item({ kind: "fork", next: ["a", "b"] }, { from: 2 }))).toBe("from #2, before a, b");
});
