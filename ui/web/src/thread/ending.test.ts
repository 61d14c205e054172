import { expect, test } from "vitest";
import type { Schemas } from "../api/client";
import { endingOf, overOf } from "./ending";

type Branch = Schemas["BranchHead"];
const branch = (name: string, status: Branch["status"], seq: number): Branch => ({
  branch: name,
  head: String(seq),
  seq,
  status,
});
const main = branch("main", "done", 9);

test("the end that is told is of the branch that is looked at, else of the one that the thread's status is of", () => {
  const stopped = branch("fork-1", "interrupted", 12);
  const ran = branch("fork-2", "failed", 15);
  const thread = { status: "done" as const, branches: [main, stopped, ran] };
  expect(overOf(thread, "main")?.branch).toBe("main");
  expect(overOf(thread, "fork-1")?.branch).toBe("main");
  expect(overOf(thread, "fork-2")?.branch).toBe("fork-2");
  expect(overOf({ status: "waiting", branches: [main, branch("fork-1", "waiting", 12)] }, "fork-1")).toBeUndefined();
  expect(overOf({ status: "waiting", branches: [main, branch("fork-1", "waiting", 12)] }, "main")?.branch).toBe("main");
  expect(overOf({ status: "" }, "main")).toBeUndefined();
});

test("a branch ended with the checkpoint that ended it, a fork of an end where its source did", async () => {
  const at = (s: number) => `2026-11-21T10:50:${s}Z`;
  const made = { status: "done" as const, kind: "fork" };
  const all: Record<string, Parameters<typeof endingOf>[1] extends (id: string) => Promise<infer H> ? H : never> = {
    "9": { kind: "node", status: "done", createdAt: at(12), parentId: "8" },
    "12": { ...made, createdAt: at(30), parentId: "9" },
    "13": { ...made, createdAt: at(40), parentId: "12" },
    away: { ...made, createdAt: at(50) },
    session: { kind: "wait", status: "waiting", createdAt: at(20), parentId: "9" },
  };
  const read = (id: string) => Promise.resolve(all[id]!);
  expect(await endingOf("9", read)).toBe(at(12));
  expect(await endingOf("13", read)).toBe(at(12));
  expect(await endingOf("away", read)).toBeNull();
  expect(await endingOf("session", read)).toBeNull(); // a decision ended it
});
