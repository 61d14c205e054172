// Checks an entry of the log in the browser: its hash, the bytes of its records, and the signature that
// covers it. docs/format.md, sections 1 to 5, says what is hashed. Nothing here asks the server whether it is
// right: what a record is, which question it is about, who decided it and how, what licensed it, and the hash of
// its body come from the signed header.

import { hexOf as toHex, Malformed } from "./canon";
import { decode, UnknownFormat, type Head, type Header } from "./header";
import { differs, type Shown } from "./shown";

export { toHex };

export type Link = {
  seq: number;
  generation: number;
  prev?: string;
  hash: string;
  header: string;
  signature?: string;
};
export type Stored = Link & {
  thread: string;
  at?: string;
  records: { kind: string; size: number; hash?: string; body?: string; missing?: boolean; sealed?: boolean }[];
  next: Link[];
};
export type PublicKey = { id: string; pem: string; notBefore?: string; notAfter?: string };

export type Verdict =
  /** The hash is right, and a key that is known here signed it, or the entry that covers it. */
  | { kind: "sound"; key: string; by: number; bodies: number; pinned?: boolean; left?: string }
  /** The hash is right, and there is no signature that counts for it. */
  | { kind: "unsigned"; bodies: number; left?: string }
  | { kind: "broken"; why: string }
  /** It cannot be checked here. */
  | { kind: "unchecked"; why: string };

type Bytes = Uint8Array<ArrayBuffer>;

const utf8 = new TextEncoder();

export const fromBase64 = (text: string): Bytes => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
const fromHex = (text: string): Bytes =>
  Uint8Array.from({ length: text.length / 2 }, (_, i) => parseInt(text.slice(2 * i, 2 * i + 2), 16));

/** uint writes a number in groups of seven bits, the lowest first. */
function uint(n: number): number[] {
  const out: number[] = [];
  for (; n >= 128; n = Math.floor(n / 128)) out.push((n % 128) + 128);
  return [...out, n];
}

const sized = (part: Uint8Array) => [...uint(part.length), ...part];

const sha256 = async (bytes: Bytes) => new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));

/** hashed is H of the format: a domain, and each part with its length before it. */
function hashed(domain: string, ...parts: Uint8Array[]): Promise<Bytes> {
  const all = [utf8.encode(domain), ...parts];
  const heads = all.map((p) => uint(p.length));
  const out = new Uint8Array(all.reduce((n, p, i) => n + p.length + (heads[i]?.length ?? 0), 0));
  let at = 0;
  all.forEach((p, i) => {
    out.set(heads[i] ?? [], at);
    out.set(p, at + (heads[i]?.length ?? 0));
    at += p.length + (heads[i]?.length ?? 0);
  });
  return sha256(out);
}

/** hashOf computes the hash of an entry from its bytes. */
export const hashOf = (thread: string, e: Link) =>
  hashed(
    "posthouse/entry/1",
    utf8.encode(thread),
    Uint8Array.from([...uint(e.generation), ...uint(e.seq)]),
    e.prev ? fromHex(e.prev) : new Uint8Array(32),
    fromBase64(e.header),
  );

/** linkOf is what the entry after it has as its prev. */
const linkOf = async (e: Link) =>
  e.signature ? toHex(await hashed("posthouse/link/1", fromHex(e.hash), fromBase64(e.signature))) : e.hash;

/** signatureOf splits a signature on record into the id of its key and the bytes. */
function signatureOf(text: string): { key: string; bytes: Bytes } | undefined {
  const all = fromBase64(text);
  const length = all[0] ?? 0;
  if (length > 127 || all.length !== 1 + length + 64) return undefined;
  return { key: new TextDecoder().decode(all.slice(1, 1 + length)), bytes: all.slice(1 + length) };
}

const body = (pem: string) =>
  fromBase64(
    pem
      .replace(/^[\s\S]*-----BEGIN PUBLIC KEY-----/, "")
      .replace(/-----END[\s\S]*$/, "")
      .replace(/^.*:.*$/gm, "")
      .replace(/\s/g, ""),
  );

const broken = (why: string): Verdict => ({ kind: "broken", why });

/** headerOf reads the header of an entry whose hash is right, or returns why that cannot be done. */
function headerOf(thread: string, e: Link): Header | Verdict {
  try {
    return decode(thread, e.seq, fromBase64(e.header));
  } catch (error) {
    if (error instanceof UnknownFormat)
      return { kind: "unchecked", why: `entry #${e.seq} is of a later version: ${error.message}` };
    if (error instanceof Malformed) return broken(`the header of entry #${e.seq} cannot be: ${error.message}`);
    throw error;
  }
}

/** saysOther says how what the server says of an entry's records differs from the header. */
function saysOther(entry: Stored, header: Header): string | undefined {
  if (entry.at !== undefined && Date.parse(entry.at) !== header.at)
    return `entry #${entry.seq} was made at another time than is shown`;
  if (entry.records.length !== header.records.length)
    return `entry #${entry.seq} has ${header.records.length} records, and ${entry.records.length} are shown`;
  for (const [i, head] of header.records.entries()) {
    const said = entry.records[i];
    const same =
      said?.kind === head.kind &&
      said.size === head.size &&
      (said.hash ?? "") === head.hash &&
      (said.sealed ?? false) === head.sealed;
    if (!same) return `record ${i + 1} of entry #${entry.seq} is a ${head.kind}, and another one is shown`;
  }
  return undefined;
}

/** bodiesOf returns the bodies that are there, by record, or why one is not what was written. */
async function bodiesOf(entry: Stored, heads: Head[]): Promise<(Bytes | undefined)[] | Verdict> {
  const all: (Bytes | undefined)[] = [];
  for (const [i, head] of heads.entries()) {
    const text = entry.records[i]?.body;
    const bytes = text === undefined ? undefined : fromBase64(text);
    all.push(bytes);
    if (bytes && (bytes.length !== head.size || toHex(await sha256(bytes)) !== head.hash))
      return broken(`the ${head.kind} of entry #${entry.seq} is not what was written`);
  }
  return all;
}

/** A Trust is what signatures are checked with: if keys are pinned in this browser, with those alone. */
export type Trust = { keys: PublicKey[]; pinned?: PublicKey[] };

/** The records for which a later signature does not count: who writes them with a key signs their entry (format.md 2). */
const ownSignature = new Set(["gate", "decision", "vote", "assignment", "notice", "removal", "release"]);

/**
 * check computes what is on record again, and says what it found. What a page shows of a record of the entry is
 * compared with its header and, if it can be read, with its body.
 */
export async function check(entry: Stored, trust: PublicKey[] | Trust, shown?: Shown): Promise<Verdict> {
  if (!globalThis.crypto?.subtle) {
    return { kind: "unchecked", why: "the browser computes nothing on a page that came without TLS" };
  }
  if (toHex(await hashOf(entry.thread, entry)) !== entry.hash) {
    return broken(`entry #${entry.seq} does not have the hash it was written with`);
  }
  const header = headerOf(entry.thread, entry);
  if ("kind" in header) return header;
  const other = saysOther(entry, header);
  if (other) return broken(other);
  const bodies = await bodiesOf(entry, header.records);
  if ("kind" in bodies) return bodies;
  const found = differs(entry.seq, header.records, bodies, shown);
  if (found.why) return broken(found.why);
  let last: Link = entry;
  for (const next of entry.next) {
    if (next.seq !== last.seq + 1 || next.prev !== (await linkOf(last))) {
      return broken(`entry #${next.seq} does not continue #${last.seq}`);
    }
    if (toHex(await hashOf(entry.thread, next)) !== next.hash) {
      return broken(`entry #${next.seq}, which covers it, does not have the hash it was written with`);
    }
    last = next;
  }
  const also = { bodies: bodies.filter((b) => b).length, ...(found.left ? { left: found.left } : {}) };
  if (!last.signature || (last !== entry && header.records.some((r) => ownSignature.has(r.kind)))) {
    return { kind: "unsigned", ...also };
  }
  const signing = last === entry ? header : headerOf(entry.thread, last);
  if ("kind" in signing) return signing;
  const signer = await signed(last, signing.at, Array.isArray(trust) ? { keys: trust } : trust);
  return signer.kind === "sound" ? { ...signer, ...also } : signer;
}

/** signed checks the signature of an entry that was made at a time. */
async function signed(e: Link, at: number, { keys, pinned = [] }: Trust): Promise<Verdict> {
  const signature = signatureOf(e.signature ?? "");
  if (!signature) return broken(`the signature of entry #${e.seq} cannot be read`);
  const given = keys.find((k) => k.id === signature.key);
  const known = pinned.length > 0 ? pinned.find((k) => k.id === signature.key) : given;
  if (!known) {
    const why = pinned.length > 0 ? "is not among those pinned in this browser" : "is not known here";
    return { kind: "unchecked", why: `the key ${signature.key}, which signed entry #${e.seq}, ${why}` };
  }
  const spki = body(known.pem);
  if (`ed25519:${toHex(await sha256(spki)).slice(0, 16)}` !== known.id) {
    return broken(`the key that the server gives for ${known.id} is another one`);
  }
  if (given && toHex(body(given.pem)) !== toHex(spki)) {
    return broken(`the key that the server gives for ${known.id} is not the one pinned in this browser`);
  }
  const early = (k: PublicKey) => k.notBefore !== undefined && at < Date.parse(k.notBefore);
  const late = (k: PublicKey) => k.notAfter !== undefined && at > Date.parse(k.notAfter);
  if ([known, given].some((k) => k && (early(k) || late(k)))) {
    return broken(`entry #${e.seq} was signed outside of the time in which ${known.id} was in use`);
  }
  let key: CryptoKey;
  try {
    key = await crypto.subtle.importKey("spki", spki, "Ed25519", false, ["verify"]);
  } catch {
    return { kind: "unchecked", why: "this browser has no Ed25519" };
  }
  const message = Uint8Array.from([...sized(utf8.encode("posthouse/signature/1")), ...sized(fromHex(e.hash))]);
  return (await crypto.subtle.verify("Ed25519", key, signature.bytes, message))
    ? { kind: "sound", key: known.id, by: e.seq, bodies: 0, ...(pinned.length > 0 ? { pinned: true } : {}) }
    : broken(`the signature of entry #${e.seq} by ${known.id} does not verify`);
}

/** signerOf returns the id of the key that a signature on record names. */
export const signerOf = (signature: string | undefined) => (signature ? signatureOf(signature)?.key : undefined);
