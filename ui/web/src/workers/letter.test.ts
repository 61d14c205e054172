import { expect, test } from "vitest";
import { wordsOf } from "./letter";

const words = (kind: "hint" | "request", subject: string, reason: string, text: string, size = text.length) =>
  wordsOf({ kind, subject, reason, size }, text, text.length);
const sentence = (w: { before: string; who: string; after: string }) => w.before + w.who + w.after;

test("a dead letter says who asked what, and why that could not be used", () => {
  const w = words(
    "request",
    "posthouse.task.media=20kim.any.resolve",
    "request: field result: is 1,310,720 bytes; at most 1,048,576 are allowed",
    '{"id":{"gate":"gate-01a2134b-af33-7000-8e78-d9133153f250"},"verdict":{',
  );
  expect(sentence(w)).toBe("media kim asked to say how its task ended");
  expect(w.why).toBe("its result is 1,310,720 bytes; at most 1,048,576 are allowed");
  expect(w.gate).toBe("gate-01a2134b-af33-7000-8e78-d9133153f250");
  expect(w.again).toBe(false);
});

test("a hint that is cut is not sent again: it would fail again", () => {
  const cut = words(
    "hint",
    "posthouse.hint.transcribe.=.gate-1",
    "hint: unexpected end of JSON input",
    '{"gate":"gate-0',
  );
  expect(sentence(cut)).toBe("a task transcribe is ready");
  expect(cut.why).toBe("it is cut: its JSON has no end");
  expect([cut.again, cut.gate]).toEqual([false, undefined]);
  const whole = words("hint", "desk.hint.scan.=.g", "an engine of another release", '{"task":"scan"}');
  expect([whole.again, whole.why]).toEqual([true, "an engine of another release"]);
  expect(words("hint", "desk.hint.scan.=.g", "too large", '{"task":"scan"}', 99_999).again).toBe(false);
});

test("an address of another kind, and a name that is not one, are said as they are", () => {
  expect(sentence(words("request", "elsewhere", "x", ""))).toBe("a worker asked for something");
  expect(sentence(words("request", "p.task.=FF.any.claim", "x", ""))).toBe("=FF asked to take a task");
  expect(sentence(words("hint", "elsewhere", "x", ""))).toBe("a task is ready");
});
