// Keys that a person pinned in this browser. If there are any, signatures count by these alone: a server that gives
// other keys verifies nothing here.

import { useSyncExternalStore } from "react";
import type { PublicKey } from "../text/proof";

const place = "pinned-keys";
const heard = new Set<() => void>();

let text: string | null = null;
let kept: PublicKey[] = [];

const isKey = (k: unknown): k is PublicKey =>
  typeof k === "object" &&
  k !== null &&
  typeof (k as PublicKey).id === "string" &&
  typeof (k as PublicKey).pem === "string";

/** pinned returns the keys that are pinned. What is stored and cannot be read pins a key that signs nothing. */
export function pinned(): PublicKey[] {
  const now = localStorage.getItem(place);
  if (now === text) return kept;
  text = now;
  try {
    const all: unknown = JSON.parse(now ?? "[]");
    kept = Array.isArray(all) && all.every(isKey) ? all : [unreadable];
  } catch {
    kept = [unreadable];
  }
  return kept;
}

const unreadable: PublicKey = { id: "unreadable", pem: "" };

function keep(all: PublicKey[]) {
  if (all.length > 0) localStorage.setItem(place, JSON.stringify(all.map(({ id, pem }) => ({ id, pem }))));
  else localStorage.removeItem(place);
  heard.forEach((call) => call());
}

export const pin = (key: PublicKey) => keep([...pinned().filter((k) => k.id !== key.id), key]);
export const unpin = (id: string) => keep(pinned().filter((k) => k.id !== id));

/** usePinned follows the keys that are pinned, in other tabs, too. */
export const usePinned = () =>
  useSyncExternalStore((call) => {
    heard.add(call);
    addEventListener("storage", call);
    return () => {
      heard.delete(call);
      removeEventListener("storage", call);
    };
  }, pinned);
