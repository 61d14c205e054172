import { expect, test } from "vitest";
import { Malformed } from "./canon";
import later from "../../../../sign/testdata/later.json";
import thread from "../../../../sign/testdata/thread.json";
import { decode, UnknownFormat } from "./header";
import { check, fromBase64, toHex, type Stored } from "./proof";

type Golden = {
  thread: string;
  publicKey: string;
  entries: {
    generation: number;
    seq: number;
    prev: string;
    header: string;
    hash: string;
    sig?: string | undefined;
    bodies: (string | null)[];
  }[];
  states: { id: string; seq: number }[];
};

const files: Golden[] = [thread, later];
const hexOf = (base64: string) => toHex(fromBase64(base64));
const base64 = (bytes: Iterable<number>) => btoa(String.fromCharCode(...bytes));

/** stored is an entry of a golden thread as the server shows it, with those that cover it. */
function stored(g: Golden, i: number): Stored {
  const link = (e: Golden["entries"][number]) => ({
    seq: e.seq,
    generation: e.generation,
    ...(e.seq > 1 ? { prev: hexOf(e.prev) } : {}),
    hash: hexOf(e.hash),
    header: e.header,
    ...(e.sig ? { signature: e.sig } : {}),
  });
  const e = g.entries[i] as Golden["entries"][number];
  const { at, records } = decode(g.thread, e.seq, fromBase64(e.header));
  const rest = e.sig ? [] : g.entries.slice(i + 1);
  const end = rest.findIndex((n) => n.sig);
  return {
    ...link(e),
    thread: g.thread,
    at: new Date(at).toISOString(),
    records: records.map((h, j) => ({
      kind: h.kind,
      size: h.size,
      sealed: h.sealed,
      ...(h.hash ? { hash: h.hash } : {}),
      ...(e.bodies[j] ? { body: e.bodies[j] as string } : {}),
    })),
    next: rest.slice(0, end < 0 ? rest.length : end + 1).map(link),
  };
}

/** keyOf is the key of a golden thread as the server gives it. */
async function keyOf(g: Golden) {
  const spki = fromBase64(g.publicKey);
  const id = `ed25519:${toHex(new Uint8Array(await crypto.subtle.digest("SHA-256", spki))).slice(0, 16)}`;
  return { id, pem: `-----BEGIN PUBLIC KEY-----\n${g.publicKey}\n-----END PUBLIC KEY-----\n` };
}

test("the golden threads decode, and what they say of themselves is in the headers", async () => {
  const kinds = new Set<string>();
  for (const g of files) {
    const keys = [await keyOf(g)];
    for (const [i, e] of g.entries.entries()) {
      const { records } = decode(g.thread, e.seq, fromBase64(e.header));
      records.forEach((h) => kinds.add(h.kind));
      for (const want of g.states.filter((s) => s.seq === e.seq))
        expect(records.find((h) => h.kind === "checkpoint")?.id).toBe(want.id);
      expect(["sound", "unsigned"], `${g.entries.length}/${e.seq}`).toContain((await check(stored(g, i), keys)).kind);
    }
  }
  expect([...kinds].sort()).toEqual(
    [
      ...["assignment", "audience", "checkpoint", "claim", "decision", "gate", "note", "notice"],
      ...["release", "removal", "signal", "step", "take", "vote"],
    ].filter((k) => kinds.has(k)),
  );
  expect(kinds.size).toBeGreaterThan(10);
});

test("no prefix of a header decodes, and none with a byte more", () => {
  for (const g of files)
    for (const e of g.entries) {
      const all = fromBase64(e.header);
      for (let n = 1; n < all.length; n += Math.max(1, Math.floor(all.length / 40)))
        expect(() => decode(g.thread, e.seq, all.slice(0, n)), `${e.seq}: ${n}`).toThrow(Malformed);
      expect(() => decode(g.thread, e.seq, Uint8Array.from([...all, 0]))).toThrow(Malformed);
    }
});

test("a flipped bit of a header is no crash: it is refused, or says something else", () => {
  for (const g of files)
    for (const e of g.entries) {
      const all = fromBase64(e.header);
      for (let i = 0; i < all.length; i += 7) {
        const bytes = all.slice();
        bytes[i] = (bytes[i] ?? 0) ^ (1 << (i % 8));
        try {
          decode(g.thread, e.seq, bytes);
        } catch (error) {
          expect(error instanceof Malformed || error instanceof UnknownFormat, `${e.seq}: ${error}`).toBe(true);
        }
      }
    }
});

const hex = (text: string) => Uint8Array.from(text.match(/../g) ?? [], (b) => parseInt(b, 16));
const gate = "02019dfc1d95847002817572f38d25fae9";

test("a second encoding of a value is refused", () => {
  const decision = (verdict: string, format = "01") => hex(`${format}00010400${gate}01${verdict}0161`);
  expect(decode("t", 2, decision("01")).records[0]).toMatchObject({ kind: "decision", verdict: "approve", by: "a" });
  expect(decode("t", 2, decision("08", "06")).records[0]).toMatchObject({ verdict: "redo" });
  const wrong: Record<string, Uint8Array<ArrayBuffer>> = {
    "a verdict of format 6 in format 1": decision("08"),
    "format 6 without a need": decision("01", "06"),
    "a verdict that nobody knows": decision("0a", "06"),
    "a number with a group too many": decision("8100"),
    "a decision about a later gate": hex(`0100010400${gate}03010161`),
    "a gate's UUID in its long form": hex(
      `01000104000129${toHex(new TextEncoder().encode("gate-019dfc1d-9584-7002-8175-72f38d25fae9"))}01010161`,
    ),
    "main in its long form": hex(`0100010800046d61696e016e01`),
    "a record of no known kind": hex("0100010f00"),
    "format 0": hex("000000"),
    "a sealed claim": hex("01000185000161010000"),
  };
  for (const [name, bytes] of Object.entries(wrong)) expect(() => decode("t", 2, bytes), name).toThrow(Malformed);
  expect(() => decode("t", 2, hex("070000"))).toThrow(UnknownFormat);
});

/** resigned is an entry of the later thread with another header and body, whole in itself and signed. */
async function resigned(e: Stored, header: Uint8Array<ArrayBuffer>) {
  const pair = (await crypto.subtle.generateKey("Ed25519", true, ["sign", "verify"])) as CryptoKeyPair;
  const spki = new Uint8Array(await crypto.subtle.exportKey("spki", pair.publicKey));
  const id = `ed25519:${toHex(new Uint8Array(await crypto.subtle.digest("SHA-256", spki))).slice(0, 16)}`;
  const { hashOf } = await import("./proof");
  const out: Stored = { ...e, header: base64(header), next: [] };
  const hash = await hashOf(e.thread, out);
  out.hash = toHex(hash);
  const message = Uint8Array.from([21, ...new TextEncoder().encode("posthouse/signature/1"), 32, ...hash]);
  const raw = new Uint8Array(await crypto.subtle.sign("Ed25519", pair.privateKey, message));
  out.signature = base64([id.length, ...new TextEncoder().encode(id), ...raw]);
  const pem = `-----BEGIN PUBLIC KEY-----\n${base64(spki)}\n-----END PUBLIC KEY-----\n`;
  return { entry: out, key: { id, pem } };
}

/** one finds an entry of the later thread that has a record of a kind, and the record. */
function one(kind: string) {
  const g: Golden = later;
  const i = g.entries.findIndex((e) =>
    decode(g.thread, e.seq, fromBase64(e.header)).records.some((h) => h.kind === kind && h.size > 0),
  );
  const e = stored(g, i);
  const heads = decode(g.thread, e.seq, fromBase64(e.header)).records;
  const at = heads.findIndex((h) => h.kind === kind);
  return { g, e, at, head: heads[at] as (typeof heads)[number] };
}

test("whatever is swapped beside the signed header is broken", async () => {
  const { g, e, at, head } = one("decision");
  const keys = [await keyOf(g)];
  const invented = new TextEncoder().encode(
    '{"gate":"x","verdict":"approve","by":"mallory","at":"2026-01-01T00:00:00Z"}',
  );
  const digest = toHex(new Uint8Array(await crypto.subtle.digest("SHA-256", invented)));
  const body = JSON.parse(new TextDecoder().decode(fromBase64(e.records[at]?.body ?? ""))) as Record<string, string>;
  const shown = (changed: Record<string, string> = {}, fields: Record<string, string> = {}) => ({
    kind: "decision",
    of: { id: head.id as string },
    head: { verdict: head.verdict as string, by: head.by as string, ...fields },
    body: { reason: body.reason ?? "", at: body.at ?? "", value: "", ...changed },
  });
  expect((await check(e, keys, shown())).kind).toBe("sound");
  const kindOf = async (change: (e: Stored) => void, s = shown()) => {
    const copy = structuredClone(e);
    change(copy);
    return (await check(copy, keys, s)).kind;
  };
  const record = (c: Stored) => c.records[at] as Stored["records"][number];
  const changes: Record<string, (c: Stored) => void> = {
    "an invented body with its own hash": (c) =>
      Object.assign(record(c), { body: base64(invented), size: invented.length, hash: digest }),
    "the kind of a record": (c) => (record(c).kind = "step"),
    "its hash": (c) => (record(c).hash = digest),
    "its size": (c) => record(c).size++,
    "that it is encrypted": (c) => (record(c).sealed = true),
    "a record less": (c) => c.records.splice(at, 1),
    "a record more": (c) => c.records.push({ kind: "claim", size: 0 }),
    "the time": (c) => (c.at = "2026-01-01T00:00:00Z"),
  };
  for (const [name, change] of Object.entries(changes)) expect(await kindOf(change), name).toBe("broken");
  const nothing = () => undefined;
  expect(await kindOf(nothing, shown({}, { verdict: "reject" })), "verdict").toBe("broken");
  expect(await kindOf(nothing, shown({}, { by: "mallory" })), "by").toBe("broken");
  expect(await kindOf(nothing, shown({ reason: "because" })), "reason").toBe("broken");
  expect(await kindOf(nothing, shown({ value: '{"amount":1}' })), "value").toBe("broken");
  expect(await kindOf(nothing, { ...shown(), of: { id: "gate-other" } }), "gate").toBe("broken");
  expect(await kindOf(nothing, { ...shown(), kind: "release" }), "kind").toBe("broken");
});

test("a body that says something else than its signed header is broken", async () => {
  const { e, at } = one("decision");
  const text = new TextDecoder().decode(fromBase64(e.records[at]?.body ?? ""));
  const other = text.replace(/"by":"[^"]*"/, '"by":"mallory"');
  expect(other).not.toBe(text);
  const bytes = new TextEncoder().encode(other);
  const sum = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  const header = toHex(fromBase64(e.header)).replace(e.records[at]?.hash ?? "", toHex(sum));
  const changed = structuredClone(e);
  Object.assign(changed.records[at] as object, { body: base64(bytes), size: bytes.length, hash: toHex(sum) });
  const size = (n: number) => toHex(Uint8Array.from(n < 128 ? [n] : [(n % 128) + 128, Math.floor(n / 128)]));
  const { entry, key } = await resigned(
    changed,
    hex(header.replace(size(text.length) + toHex(sum), size(bytes.length) + toHex(sum))),
  );
  expect(await check(entry, [key])).toMatchObject({ kind: "broken", why: expect.stringContaining("another by") });
});

test("the gate that licensed a step is the one of its header", async () => {
  const bytes = hex(`02000102000161016201000004 01${gate}00`.replace(/ /g, ""));
  const e: Stored = {
    ...{ thread: "t", seq: 1, generation: 1, hash: "", header: "", next: [] },
    records: [{ kind: "step", size: 0 }],
  };
  const { entry, key } = await resigned(e, bytes);
  const shown = (grant: string) => ({ kind: "step", of: { name: "b", occurrence: 1 }, head: { grant } });
  const id = "gate-019dfc1d-9584-7002-8175-72f38d25fae9";
  expect((await check(entry, [key], shown(id))).kind).toBe("sound");
  expect((await check(entry, [key], shown("gate-019dfc1d-9584-7002-8175-000000000000"))).kind).toBe("broken");
  expect((await check(entry, [key], shown(""))).kind).toBe("broken");
});

test("a format of a later version is not checked, and one that is signed and cannot be is broken", async () => {
  const { e } = one("decision");
  const unknown = await resigned({ ...e, records: [] }, hex("070000"));
  expect(await check(unknown.entry, [unknown.key])).toMatchObject({ kind: "unchecked" });
  const bad = await resigned({ ...e, records: [] }, hex("0100018f00"));
  expect(await check(bad.entry, [bad.key])).toMatchObject({ kind: "broken" });
});

test("with a key pinned in this browser, no other key counts", async () => {
  const { g, e } = one("decision");
  const key = await keyOf(g);
  const other = await resigned(e, fromBase64(e.header));
  expect((await check(other.entry, [other.key, key])).kind).toBe("sound");
  expect(await check(other.entry, { keys: [other.key, key], pinned: [key] })).toMatchObject({
    kind: "unchecked",
    why: expect.stringContaining("not among those pinned"),
  });
  expect(await check(e, { keys: [], pinned: [key] })).toMatchObject({ kind: "sound", pinned: true });
  expect((await check(e, { keys: [{ id: key.id, pem: other.key.pem }], pinned: [key] })).kind).toBe("broken");
});

test("a key counts only in the time of its use", async () => {
  const { g, e } = one("decision");
  const key = await keyOf(g);
  expect((await check(e, [{ ...key, notBefore: "2026-01-01T00:00:00Z" }])).kind).toBe("sound");
  expect((await check(e, [{ ...key, notBefore: "2027-01-01T00:00:00Z" }])).kind).toBe("broken");
  expect((await check(e, [{ ...key, notAfter: "2026-01-01T00:00:00Z" }])).kind).toBe("broken");
});

test("what decides is not signed by the signature of a later entry, and a step is", async () => {
  for (const [kind, want] of [
    ["decision", "unsigned"],
    ["gate", "unsigned"],
    ["step", "sound"],
  ] as const) {
    const e = kind === "step" ? stored(thread, 1) : one(kind).e;
    const { signature: _, ...bare } = e;
    const alone: Stored = { ...bare, next: [] };
    expect(await check(alone, []), kind).toMatchObject({ kind: "unsigned" });
    const step = hex(
      "0190a7f6e0df3301029601eeea19d126e0a229ac6aa05e3b290499065748b48506598702df69997372e8f609322f616e616c797a65036c6c6d00000004",
    );
    const later = await resigned({ ...bare, seq: e.seq + 1, prev: e.hash }, step);
    expect(await check({ ...alone, next: [later.entry] }, [later.key]), kind).toMatchObject({ kind: want });
  }
});
