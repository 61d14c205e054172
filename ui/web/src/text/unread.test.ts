import { expect, test } from "vitest";
import { binaryOf, unreadOf } from "./unread";

test("what cannot be read has a word, a reason, and who could read it", () => {
  const sealed = unreadOf({ code: "sealed", detail: 'key "k1" is not in the keyring' });
  expect(sealed?.word).toBe("encrypted");
  expect(sealed?.why).toContain('key "k1" is not in the keyring.');
  expect(sealed?.who).toMatch(/started with that key/);
  expect(unreadOf({ code: "not-found", detail: "there is no checkpoint" })?.word).toBe("removed");
  expect(unreadOf({ code: "corrupt", detail: "hash" })?.word).toBe("damaged");
  expect(unreadOf({ code: "unavailable", detail: "no connection" })).toBeUndefined();
  expect(unreadOf({ detail: "no connection" })).toBeUndefined();
  expect(binaryOf("gob", "12 B").why).toBe("It has 12 B of the codec gob, which is no JSON.");
});
