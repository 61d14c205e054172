import { expect, test } from "vitest";
import { quoted } from "../text/quoted";
import { cancelled } from "./cancelled";

const record = (kind: string, of: unknown) => ({ kind, body: btoa(JSON.stringify(of)) });

test("only what somebody typed is in quotation marks", () => {
  expect(quoted("ann", "too late")).toBe("“too late”");
  expect(quoted(undefined, "too late")).toBe("“too late”");
  expect(quoted("posthouse", "the branch went on without it")).toBe("the branch went on without it");
});

test("an entry that cancels a branch says who did it and why", () => {
  const decision = record("decision", { gate: "gate-1", verdict: "cancel", by: "posthouse" });
  const cancel = record("checkpoint", { kind: "cancel", by: "ann", error: "called off" });
  expect(cancelled([decision, cancel])).toBe("the branch was cancelled by ann: called off");
  expect(cancelled([record("checkpoint", { kind: "cancel" })])).toBe("the branch was cancelled");
  expect(cancelled([decision, record("checkpoint", { kind: "save", by: "ann" })])).toBeUndefined();
  expect(cancelled([{ ...cancel, sealed: true }])).toBeUndefined();
});
