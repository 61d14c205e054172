import { expect, test } from "vitest";
import type { Act } from "../data/proof";
import { strangerOf } from "./came";

const act = (kind: string, value: unknown) => ({ kind, record: { signal: { value } } }) as unknown as Act;

test("who came without a name is said as far as it is known", () => {
  expect(strangerOf(act("login", { person: "ann", role: "approver" }))).toBe("ann");
  expect(strangerOf(act("refusal", { method: "header", address: "192.0.2.1" }))).toBe("unknown");
  expect(strangerOf(act("refusal", { count: 12000, of: [{ name: "2001:db8::/64", count: 11000 }] }))).toBe("several");
  expect(strangerOf(act("token", { person: "ci", beside: true }))).toBe("beside the server");
  expect(strangerOf(act("login", null))).toBe("unknown");
  expect(strangerOf(act("signal", {}))).toBeUndefined();
});
