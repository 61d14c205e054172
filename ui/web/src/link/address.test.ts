import { expect, test } from "vitest";
import { takeLink } from "./address";

test("the token of a link leaves the address and stays with the tab", () => {
  const kept = new Map<string, string>();
  const tab = { getItem: (k: string) => kept.get(k) ?? null, setItem: (k: string, v: string) => void kept.set(k, v) };
  const addresses: unknown[] = [];
  const past = { replaceState: (_: unknown, __: string, url?: string | URL | null) => void addresses.push(url) };
  const at = { pathname: "/decide/gate-1", search: "?x=1", hash: "#secret" };
  expect(takeLink(at, past, () => tab)).toEqual({ id: "gate-1", token: "secret" });
  expect(addresses).toEqual(["/decide/gate-1?x=1"]);
  expect(takeLink({ ...at, hash: "" }, past, () => tab)).toEqual({ id: "gate-1", token: "secret" });
  expect(takeLink({ ...at, pathname: "/decide/gate-2", hash: "" }, past, () => tab)).toEqual({
    id: "gate-2",
    token: "",
  });
  const none = () => {
    throw new Error("no storage");
  };
  expect(takeLink(at, past, none).token).toBe("secret");
  expect(takeLink({ ...at, hash: "" }, past, none).token).toBe("");
  expect(addresses).toHaveLength(2);
});
