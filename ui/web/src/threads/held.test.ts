import { expect, test } from "vitest";
import { heldRows } from "./held";

const rows = (...names: string[]) => names.map((thread) => ({ thread }));
const names = (of: { thread: string }[]) => of.map((t) => t.thread).join(" ");

test("new rows wait, and those that moved stay where they were", () => {
  const held = heldRows(rows("a", "b", "c"), rows("new-2", "c", "new-1", "a", "b"));
  expect(names(held.rows)).toBe("a b c");
  expect(held.fresh).toBe(2);
});

test("a row is shown as it is now, and one that left stays", () => {
  const held = heldRows(
    [
      { thread: "a", status: "running" },
      { thread: "b", status: "running" },
    ],
    [{ thread: "a", status: "done" }],
  );
  expect(held.rows).toEqual([
    { thread: "a", status: "done" },
    { thread: "b", status: "running" },
  ]);
  expect(held.gone).toBe(1);
});

test("the rows of the next page follow", () => {
  const held = heldRows(rows("a", "b"), rows("new", "a", "b", "c", "d"));
  expect(names(held.rows)).toBe("a b c d");
  expect(held.fresh).toBe(1);
  expect(heldRows(rows("a"), rows("b", "c"))).toEqual({ rows: rows("a"), fresh: 2, gone: 1 });
});
