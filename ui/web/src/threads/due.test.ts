import { expect, test } from "vitest";
import { dueOf, pausedOf } from "./due";

const at = "2026-12-11T05:48:45Z";

test("the time at the end of a wait is a time, and that of a question stays as it was written", () => {
  for (const line of [
    "sleeps until",
    "starts at",
    "waits for the signal confirmed until",
    "waits for a worker for wipe-tapes until",
    "the next attempt of node read at",
    "task wipe-tapes is paused by olga until",
  ])
    expect(dueOf(`${line} ${at}`)).toEqual({ line, at });
  for (const line of [`Pay until ${at}`, `sleeps until ${at}, and more`, `sleeps until tomorrow`, ""])
    expect(dueOf(line)).toEqual({ line });
  expect(dueOf(undefined)).toEqual({ line: "" });
});

test("a task that is paused says by whom and until when, and other waits are none", () => {
  expect(pausedOf(`task wipe-tapes is paused by olga until ${at}`)).toEqual({ by: "by olga", at });
  expect(pausedOf(`task a is paused is paused by worker:w1 (cool down) until ${at}`)).toEqual({
    by: "by worker:w1 (cool down)",
    at,
  });
  expect(pausedOf(`waits for a worker for wipe-tapes until ${at}`)).toBeUndefined();
  expect(pausedOf(undefined)).toBeUndefined();
});
