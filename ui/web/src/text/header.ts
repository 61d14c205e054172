// Reads the header of an entry, docs/format.md, sections 3 to 5. The header is what the entry's hash covers and
// its signature signs: what a page says of an entry is taken from here, and not from what a server says beside it.

import { hexOf, Malformed, Reader } from "./canon";
import { checkpoint, need, statuses, story, type At, type Rest } from "./state-header";

/** UnknownFormat is thrown for a header that a later version wrote. */
export class UnknownFormat extends Error {
  constructor(readonly format: number) {
    super(`its header has format ${format}, which this page does not know`);
  }
}

/** A Head is what the header says of one record. Fields that its kind does not have are absent. */
export type Head = {
  kind: string;
  size: number;
  /** SHA-256 of the body; "" without a body. */
  hash: string;
  sealed: boolean;
  /** Of the checkpoint, the signal, or the gate that the record is or is about. */
  id?: string;
  gateSeq?: bigint;
  verdict?: string;
  by?: string;
  /** The gate by whose decision a step acted; "" without. */
  grant?: string;
  name?: string;
  task?: string;
  occurrence?: number;
  branch?: string;
  /** Of a checkpoint. */
  was?: string;
  status?: string;
  parent?: string;
  /** Of a release. */
  reason?: string;
  tags?: string;
  failed?: boolean;
};

export type Header = { format: number; at: number; records: Head[] };

const newest = 6;

const kinds = [
  ...["", "checkpoint", "step", "gate", "decision", "claim", "removal", "signal", "take", "release"],
  ...["vote", "assignment", "audience", "note", "notice"],
];
const verdicts = ["", "approve", "reject", "edit", "respond", "expire", "cancel", "happened", "redo", "give-up"];
const gateKinds = ["approval", "timer", "signal", "thread"];
const noticeKinds = ["reminder", "snooze", "unsnooze"];

/** decode reads a header strictly. It throws [Malformed], or [UnknownFormat]. */
export function decode(thread: string, seq: number, bytes: Uint8Array<ArrayBuffer>): Header {
  const r = new Reader(bytes);
  const format = r.byte();
  if (format > newest) throw new UnknownFormat(format);
  if (format < 1) r.fail("its format is 0");
  const at: At = { thread, seq: BigInt(seq), format, needs: 1 };
  const time = r.moment();
  const n = r.count();
  if (n > 65_536) r.fail(`${n} records`);
  const records = Array.from({ length: n }, () => record(r, at));
  r.done();
  if (at.needs !== format) throw new Malformed(`format ${format} says nothing that format ${at.needs} cannot`);
  records.forEach((h, i) => {
    if (h.kind === "release" && i !== n - 1) throw new Malformed("a record behind a release");
    if (h.kind === "note" && !["step", "checkpoint"].includes(records[i - 1]?.kind ?? ""))
      throw new Malformed("a note of neither a step nor a checkpoint");
  });
  if (records.filter((h) => h.kind === "checkpoint").length > 1) throw new Malformed("two checkpoints");
  return { format, at: time, records };
}

function record(r: Reader, at: At): Head {
  const code = r.byte();
  const sealed = code >= 128;
  const kind = kinds[code & 127];
  if (!kind) return r.fail(`a record of the unknown kind ${code & 127}`);
  const size = r.size();
  const hash = size > 0 ? hexOf(r.raw(32)) : "";
  if (sealed && (size === 0 || kind === "claim" || kind === "removal")) r.fail(`a sealed ${kind} of ${size} bytes`);
  if (kind === "note" && size === 0) r.fail("a note that says nothing");
  return { kind, size, hash, sealed, ...readers[kind]?.(r, at) };
}

const readers: Record<string, (r: Reader, at: At) => Rest> = {
  checkpoint,
  step(r, at) {
    const h = { task: r.text(), name: r.text(), occurrence: r.u32(), branch: r.branch(), codec: r.codec() };
    r.byte(); // its class
    let grant = "";
    if (at.format >= 2) {
      grant = optionalGate(r, at);
      if (r.bool()) need(at, 2);
    }
    if (at.format >= 3 && story(r)) need(at, 3);
    const { codec: _, ...rest } = h;
    return { ...rest, grant };
  },
  gate(r, at) {
    const h = { id: r.gate(), name: r.text(), task: r.text(), occurrence: r.u32(), branch: r.branch() };
    r.moment(); // it expires
    r.moment(); // it escalates
    if (r.codeOr(gateKinds) === "signal") {
      r.text();
      r.bool();
    }
    if (at.format >= 2) {
      if (r.bool()) {
        if (r.raw(32).every((b) => b === 0)) r.fail("no digest in its long form");
        need(at, 2);
      }
      optionalGate(r, at);
    }
    if (at.format >= 4 && r.moment() !== 0) need(at, 4);
    if (at.format >= 6 && r.bool()) need(at, 6); // it settles an unknown outcome
    return h;
  },
  decision(r, at) {
    const h = { id: r.gate(), gateSeq: r.uint(), verdict: verdict(r, at), by: r.text() };
    if (h.gateSeq === 0n || h.gateSeq > at.seq) r.fail(`a decision about a gate in entry ${h.gateSeq}`);
    return h;
  },
  claim(r) {
    r.text(); // the process
    r.uint(); // its fence
    r.text(); // the run
    r.bool();
    return {};
  },
  removal(r) {
    const h = { reason: r.text(), by: r.text() };
    r.bool();
    for (let i = 0; i < 4; i++) r.u32();
    heads(r);
    r.list(r.gate);
    return h;
  },
  signal(r, at) {
    const h = { id: r.id(), name: r.text(), by: r.text() };
    const flags = r.byte();
    if (flags > 3) r.fail("unknown flags of a signal");
    if (flags & 2 && r.list(r.text).length === 0) r.fail("an empty list of requesters");
    const branch = r.text();
    if (r.uint() >= at.seq) r.fail("a signal before one that comes later");
    return { ...h, branch };
  },
  take(r, at) {
    const h = { branch: r.branch(), name: r.text() };
    const signal = r.uint();
    if (signal === 0n || signal > at.seq) r.fail(`a signal taken from entry ${signal}`);
    if (at.format >= 6 && r.bool()) {
      need(at, 6); // it was not taken after all
      optionalGate(r, at);
    }
    return h;
  },
  release(r, at) {
    const first = r.uint();
    const base = r.raw(32).every((b) => b === 0);
    if (first === 0n || first > at.seq || (first === 1n) !== base) r.fail(`a release from entry ${first} on`);
    const h = { tags: r.list(r.text).join("\n"), by: r.text(), reason: r.text(), failed: r.bool() };
    r.uint(); // the newest fence
    r.u32(); // how many checkpoints
    for (const seq of heads(r)) if (seq < first || seq > at.seq) r.fail(`a released head in entry ${seq}`);
    return h;
  },
  vote(r, at) {
    const h = trail(r, at);
    return { id: h.id, gateSeq: h.gateSeq, verdict: verdict(r, at), by: r.text() };
  },
  assignment(r, at) {
    const { prior, ...h } = trail(r, at);
    const by = r.text();
    const escalation = r.bool();
    const back = at.format >= 5 ? r.uint() : 0n;
    if (back !== 0n) {
      need(at, 5);
      if (escalation || back <= h.gateSeq || back > prior) r.fail("it takes back what is no delegation of the gate");
    }
    return { ...h, by };
  },
  audience(r) {
    const id = r.gate();
    const anyone = r.bool();
    let last = "";
    const marks = r.list(() => {
      const mark = hexOf(r.raw(8));
      if (mark <= last && last) r.fail("marks do not ascend");
      last = mark;
    });
    if (anyone && marks.length > 0) r.fail("an audience of anyone, with marks");
    return { id };
  },
  note(r, at) {
    need(at, 3);
    const branch = r.branch();
    r.bool();
    return { branch };
  },
  notice(r, at) {
    need(at, 4);
    const { prior: _, ...h } = trail(r, at);
    r.codeOr(noticeKinds);
    const by = r.text();
    r.moment();
    return { ...h, by };
  },
};

/** verdict is one of the six, or from format 6 one of those about an effect of unknown outcome. */
function verdict(r: Reader, at: At): string {
  const v = r.code(verdicts);
  if (verdicts.indexOf(v) > 6) need(at, 6);
  return v;
}

/** trail is what votes, assignments and notices begin with. */
function trail(r: Reader, at: At) {
  const h = { id: r.gate(), gateSeq: r.uint(), prior: r.uint() };
  if (h.gateSeq === 0n || h.gateSeq >= at.seq || h.prior >= at.seq || (h.prior !== 0n && h.prior <= h.gateSeq))
    r.fail(`it names a gate in entry ${h.gateSeq} behind entry ${h.prior}`);
  return h;
}

function optionalGate(r: Reader, at: At): string {
  if (!r.bool()) return "";
  need(at, 2);
  return r.gate() || r.fail("no gate in its long form");
}

/** heads are where branches end. It returns their entries. */
const heads = (r: Reader): bigint[] =>
  r.list(() => {
    r.branch();
    r.id();
    const seq = r.uint();
    r.code(statuses);
    return seq;
  });
