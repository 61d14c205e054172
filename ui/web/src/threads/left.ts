// Where lists of threads were left, so that Back leads to the same rows again.

import type { Thread } from "../data/threads";
import { cameBack } from "../shell/came";
import type { Listing } from "./order";

/** A Left is what was read of a list, the row that was opened, and how far it was scrolled. */
export type Left = { listing?: Listing<Thread> | undefined; at?: string | undefined; top: number };

const most = 8;
const lists = new Map<string, Left>();

/** leave keeps how the list at an address is left. */
export function leave(address: string, left: Left) {
  lists.delete(address);
  lists.set(address, left);
  for (const [oldest] of lists) {
    if (lists.size <= most) break;
    lists.delete(oldest);
  }
}

/** leftAt returns how the list at an address was left, if Back or Forward leads there. */
export const leftAt = (address: string): Left | undefined => (cameBack() ? lists.get(address) : undefined);
