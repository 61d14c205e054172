import { expect, test } from "vitest";
import type { Act } from "../data/proof";
import { accessOf } from "./came";

const act = (kind: string, value: unknown) => ({ kind, record: { signal: { value } } }) as unknown as Act;

test("a login, a refusal, a sum and a token are one line each", () => {
  const login = act("login", { person: "ann", role: "approver", method: "link", address: "192.0.2.1" });
  expect(accessOf(login)?.line).toBe("approver · by link · from 192.0.2.1");
  const refusal = act("refusal", { method: "header", address: "192.0.2.1", why: "nobody has this token" });
  expect(accessOf(refusal)).toEqual({
    line: "by the header of a request · from 192.0.2.1 · nobody has this token",
    unknown: "unknown",
  });
  const sum = act("refusal", { count: 12000, of: [{ name: "2001:db8::/64", count: 11000 }], others: 1000 });
  expect(accessOf(sum)).toEqual({ line: "12,000 times: 2001:db8::/64 11,000, others 1,000", unknown: "several" });
  expect(accessOf(act("token", { person: "ci", role: "worker", groups: ["gpu"], beside: true }))).toEqual({
    line: "ci · worker · groups gpu",
    unknown: "beside the server",
  });
  expect(accessOf(act("signal", {}))).toBeUndefined();
  expect(accessOf(act("login", null))?.line).toBe("");
});
