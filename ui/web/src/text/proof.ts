// Checks an entry of the log in the browser: its hash, the bytes of its records, and the signature that
// covers it. docs/format.md, sections 1 and 2, says what is hashed. Nothing here asks the server
// whether it is right.

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
  records: { kind: string; size: number; hash?: string; body?: string; missing?: boolean }[];
  next: Link[];
};
export type PublicKey = { id: string; pem: string; notBefore?: string; notAfter?: string };

export type Verdict =
  /** The hash is right, and a key that is known here signed it, or the entry that covers it. */
  | { kind: "sound"; key: string; by: number; bodies: number }
  /** The hash is right, and there is no signature on the way. */
  | { kind: "unsigned"; bodies: number }
  | { kind: "broken"; why: string }
  /** It cannot be checked here. */
  | { kind: "unchecked"; why: string };

type Bytes = Uint8Array<ArrayBuffer>;

const utf8 = new TextEncoder();

export const fromBase64 = (text: string): Bytes => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
const fromHex = (text: string): Bytes =>
  Uint8Array.from({ length: text.length / 2 }, (_, i) => parseInt(text.slice(2 * i, 2 * i + 2), 16));
export const toHex = (bytes: Uint8Array) => Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join("");

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

/** check computes what is on record again, and says what it found. */
export async function check(entry: Stored, keys: PublicKey[]): Promise<Verdict> {
  if (!globalThis.crypto?.subtle) {
    return { kind: "unchecked", why: "the browser computes nothing on a page that came without TLS" };
  }
  if (toHex(await hashOf(entry.thread, entry)) !== entry.hash) {
    return { kind: "broken", why: `entry #${entry.seq} does not have the hash it was written with` };
  }
  let bodies = 0;
  for (const r of entry.records) {
    if (r.body === undefined) continue;
    const bytes = fromBase64(r.body);
    if (bytes.length !== r.size || toHex(await sha256(bytes)) !== r.hash) {
      return { kind: "broken", why: `the ${r.kind} of entry #${entry.seq} is not what was written` };
    }
    bodies++;
  }
  let last: Link = entry;
  for (const next of entry.next) {
    if (next.prev !== (await linkOf(last))) {
      return { kind: "broken", why: `entry #${next.seq} does not continue #${last.seq}` };
    }
    if (toHex(await hashOf(entry.thread, next)) !== next.hash) {
      return { kind: "broken", why: `entry #${next.seq}, which covers it, does not have the hash it was written with` };
    }
    last = next;
  }
  return last.signature ? signed(last, keys, bodies) : { kind: "unsigned", bodies };
}

async function signed(e: Link, keys: PublicKey[], bodies: number): Promise<Verdict> {
  const signature = signatureOf(e.signature ?? "");
  if (!signature) return { kind: "broken", why: `the signature of entry #${e.seq} cannot be read` };
  const known = keys.find((k) => k.id === signature.key);
  if (!known)
    return { kind: "unchecked", why: `the key ${signature.key}, which signed entry #${e.seq}, is not known here` };
  const spki = body(known.pem);
  if (`ed25519:${toHex(await sha256(spki)).slice(0, 16)}` !== known.id) {
    return { kind: "broken", why: `the key that the server gives for ${known.id} is another one` };
  }
  let key: CryptoKey;
  try {
    key = await crypto.subtle.importKey("spki", spki, "Ed25519", false, ["verify"]);
  } catch {
    return { kind: "unchecked", why: "this browser has no Ed25519" };
  }
  const message = Uint8Array.from([...sized(utf8.encode("posthouse/signature/1")), ...sized(fromHex(e.hash))]);
  return (await crypto.subtle.verify("Ed25519", key, signature.bytes, message))
    ? { kind: "sound", key: known.id, by: e.seq, bodies }
    : { kind: "broken", why: `the signature of entry #${e.seq} by ${known.id} does not verify` };
}

/** signerOf returns the id of the key that a signature on record names. */
export const signerOf = (signature: string | undefined) => (signature ? signatureOf(signature)?.key : undefined);
