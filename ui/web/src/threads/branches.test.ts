import { describe, expect, it } from "vitest";
import { othersOf } from "./branches";

describe("othersOf", () => {
  const branches = [
    { branch: "main", status: "done" },
    { branch: "fork-1", status: "interrupted" },
    { branch: "fork-2", status: "interrupted" },
    { branch: "fork-3", status: "failed" },
    { branch: "fork-4" },
  ];
  it("says which branches stand otherwise than their thread", () => {
    expect(othersOf("done", branches)).toEqual([
      { status: "interrupted", branches: ["fork-1", "fork-2"] },
      { status: "failed", branches: ["fork-3"] },
    ]);
    expect(othersOf("failed", branches, "failed")).toEqual([]);
    expect(othersOf("done", branches, "failed")).toEqual([{ status: "failed", branches: ["fork-3"] }]);
    expect(othersOf("done", undefined)).toEqual([]);
  });
});
