import { expect, test } from "vitest";
import { standings } from "./standing";

test("the status is that of the branch that is shown, and that of its thread once if it is another", () => {
  const branches = [
    { branch: "main", head: "a", seq: 7, status: "done" as const },
    { branch: "fork-1", head: "b", seq: 8, status: "waiting" as const },
    { branch: "by-hand", head: "c", seq: 9 },
  ];
  const thread = { status: "waiting" as const, branches };
  expect(standings(thread, "main")).toEqual({ shown: "done", whole: "waiting" });
  expect(standings(thread, "fork-1")).toEqual({ shown: "waiting" });
  expect(standings(thread, "by-hand")).toEqual({ shown: "saved", whole: "waiting" });
  expect(standings(thread, "gone")).toEqual({ shown: "waiting" });
  expect(standings({ status: "" as never, branches: [], releases: 2 }, "main")).toEqual({ shown: "archived" });
});
