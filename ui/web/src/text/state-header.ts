// Reads what a header says of a checkpoint, docs/format.md, section 4.

import { hexOf, isUuid, type Reader } from "./canon";
import type { Head } from "./header";

export type Rest = Omit<Head, "kind" | "size" | "hash" | "sealed">;

/** At is where a header stands, its format, and the lowest that its records need. */
export type At = { thread: string; seq: bigint; format: number; needs: number };

export const need = (at: At, format: number) => {
  at.needs = Math.max(at.needs, format);
};

export const statuses = ["", "running", "waiting", "ready", "interrupted", "done", "failed", "cancelled"];
const made = [
  ...["", "save", "input", "node", "wait", "update", "fork", "fail", "event", "inner", "cancel", "migrate", "anew"],
];

/** story reads how long an attempt took, and how many there were. It says whether there is something to tell. */
export function story(r: Reader): boolean {
  const took = r.moment();
  return r.u32() > 0 || took > 0;
}

export function checkpoint(r: Reader, at: At): Rest {
  const flags = Number(r.uint());
  const has = (flag: number) => Math.floor(flags / flag) % 2 === 1;
  if (flags >= 1 << 17 || (has(65536) && at.format < 3)) r.fail("unknown flags of a checkpoint");
  const id = r.id();
  const own = isUuid(id);
  const was = r.code(made);
  if (was === "anew") need(at, 2);
  const status = r.code(statuses);
  r.uint(); // its step
  r.size(); // of the state
  const parent = has(1) ? r.id() : "";
  if (has(1)) {
    const seq = r.uint();
    if (seq === 0n || seq >= at.seq) r.fail(`a parent in entry ${seq}`);
  }
  if (has(2) && r.some() === at.thread) r.fail("a coordination that is the thread, in its long form");
  const branch = has(4) ? r.some() : "main";
  if (has(4) && branch === "main") r.fail("main in its long form");
  for (const flag of [8, 16, 32]) if (has(flag)) r.some();
  const node = has(64) ? r.some() : "";
  if (has(128)) r.some();
  if (has(256) && r.list(r.text).length === 0) r.fail("an optional list is empty");
  if (has(512)) {
    r.text();
    r.id();
  }
  if (has(1024) && r.map().size === 0) r.fail("an optional map is empty");
  const by = has(2048) ? r.some() : "";
  if (has(4096)) r.some();
  if (has(8192)) r.uint();
  if (has(16384) && r.u32() === 0) r.fail("revision 0 in its long form");
  if (has(32768)) {
    if (hexOf(r.raw(16)) === id.replaceAll("-", "") && own) r.fail("an order key in its long form");
  } else if (!own) r.fail("a foreign id without an order key");
  if (has(65536)) {
    if (!story(r)) r.fail("an optional story is empty");
    need(at, 3);
  }
  parts(r, at);
  return { id, was, status, parent, branch, by, name: node };
}

/** parts read where the values of a checkpoint's state are. All of it lies in earlier entries. */
function parts(r: Reader, at: At) {
  const back = () => {
    const n = r.uint();
    if (n !== 0n && n >= at.seq) r.fail(`a reference ${n} entries back`);
    return n;
  };
  const ref = () => {
    r.text();
    r.codec();
    r.size();
    back();
    back();
    r.size();
    r.size();
  };
  const manifest = back();
  r.size();
  r.list(() => {
    const op = r.byte();
    if (op > 2) r.fail(`a part is changed in the unknown way ${op}`);
    ref();
    if (op === 1) {
      r.size();
      r.size();
    }
    if (op === 2) return;
    r.list(() => {
      r.size();
      if (back() === 0n) return;
      r.size();
      r.size();
    });
  });
  if (manifest === 0n) r.list(ref);
}
