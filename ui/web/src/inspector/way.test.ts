import { expect, test, vi } from "vitest";
import { editedOn } from "./way";

vi.mock("../api/client", () => ({}));
vi.mock("../thread/address", () => ({}));

test("questions that were edited on the way are found, the oldest first", () => {
  const asked = (id: string, verdict: "edit" | "approve") => [{ id, name: "pay", state: "decided" as const, verdict }];
  const rows = [
    { id: "4", parent: "3" },
    { id: "fork", parent: "2", asked: asked("other", "edit") },
    { id: "3", parent: "2", asked: asked("late", "edit") },
    { id: "2", parent: "1", asked: asked("early", "edit") },
    { id: "1", asked: asked("plain", "approve") },
  ];
  expect(editedOn(rows, "4", undefined)).toEqual(["early", "late"]);
  expect(editedOn(rows, "4", "2")).toEqual(["early", "late"]);
  expect(editedOn(rows, "4", "3")).toEqual(["late"]);
  expect(editedOn(rows, "gone", undefined)).toEqual([]);
});
