import { expect, test } from "vitest";
import { check, hashOf, toHex, type Stored } from "./proof";

const base64 = (bytes: Iterable<number>) => btoa(String.fromCharCode(...bytes));
const hex = (text: string) => (text.match(/../g) ?? []).map((b) => parseInt(b, 16));
const text = (s: string) => [...new TextEncoder().encode(s)];

// The example of docs/format.md.
const entry = (): Stored => ({
  thread: "order-7",
  seq: 2,
  generation: 1,
  prev: "c4b43ceacffc3f3f6fe426331ae665736e89e20c55cf6ff674d926e17c68fdde",
  hash: "3739f1aae180ed6d91829c8ae43cbde527484139558e399b3f2a914393b40391",
  header: base64(
    hex(
      "0190a7f6e0df3301029601eeea19d126e0a229ac6aa05e3b290499065748b48506598702df69997372e8f609322f616e616c797a65036c6c6d00000004",
    ),
  ),
  records: [
    {
      kind: "step",
      size: 150,
      hash: "eeea19d126e0a229ac6aa05e3b290499065748b48506598702df69997372e8f6",
      body: base64(text(`{"role":"assistant","text":"${Array.from({ length: 12 }, () => "answer 0. ").join("")}"}`)),
    },
  ],
  next: [
    {
      seq: 3,
      generation: 1,
      prev: "3739f1aae180ed6d91829c8ae43cbde527484139558e399b3f2a914393b40391",
      hash: "f7fa5d2f942a39e87494aa211ea7b1db17d90d365e9349bd8289ca7598b22bae",
      header: base64(
        hex(
          "0184abf6e0df330101024f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945d30300019dfc1d95847002817572f38d25fae9030101bb0700019dfc1d919c7000aabec60473d3b3960108646973706174636806726566756e6407616e616c797a6508616e616c797a65720107616e616c797a6502040100084d657373616765730098010200000003010096010100000100",
        ),
      ),
    },
  ],
});

/** signedBy signs the entry that covers the example with a new key. */
async function signedBy(e: Stored) {
  const pair = (await crypto.subtle.generateKey("Ed25519", true, ["sign", "verify"])) as CryptoKeyPair;
  const spki = new Uint8Array(await crypto.subtle.exportKey("spki", pair.publicKey));
  const id = `ed25519:${toHex(new Uint8Array(await crypto.subtle.digest("SHA-256", spki))).slice(0, 16)}`;
  const last = e.next[0] as Stored["next"][number];
  const message = Uint8Array.from([21, ...text("posthouse/signature/1"), 32, ...hex(last.hash)]);
  const raw = new Uint8Array(await crypto.subtle.sign("Ed25519", pair.privateKey, message));
  last.signature = base64([id.length, ...text(id), ...raw]);
  return {
    id,
    pem: `# ${id}\n-----BEGIN PUBLIC KEY-----\nNot-Before: 2026-01-01T00:00:00Z\n\n${base64(spki)}\n-----END PUBLIC KEY-----\n`,
  };
}

test("the hash of an entry is that of the format's example", async () => {
  const e = entry();
  expect(toHex(await hashOf(e.thread, e))).toBe(e.hash);
  expect(await check(e, [])).toEqual({ kind: "unsigned", bodies: 1 });
});

test("a signature on a later entry covers it", async () => {
  const e = entry();
  const key = await signedBy(e);
  expect(await check(e, [key])).toEqual({ kind: "sound", key: key.id, by: 3, bodies: 1 });
  expect((await check(e, [])).kind).toBe("unchecked");
});

test("whatever is changed is found", async () => {
  const changes: Record<string, (e: Stored) => void> = {
    thread: (e) => (e.thread = "order-8"),
    seq: (e) => (e.seq = 4),
    generation: (e) => (e.generation = 2),
    prev: (e) => (e.prev = e.hash),
    header: (e) => (e.header = btoa(atob(e.header).replace("llm", "lln"))),
    body: (e) => ((e.records[0] as { body: string }).body = btoa("{}")),
    "next prev": (e) => ((e.next[0] as { prev: string }).prev = e.prev ?? ""),
    "next header": (e) => ((e.next[0] as { header: string }).header = e.header),
    signature: (e) => {
      const last = e.next[0] as { signature: string };
      const bytes = atob(last.signature);
      last.signature = btoa(bytes.slice(0, -1) + String.fromCharCode(bytes.charCodeAt(bytes.length - 1) ^ 1));
    },
    cut: (e) => ((e.next[0] as { signature: string }).signature = btoa("x")),
  };
  for (const [name, change] of Object.entries(changes)) {
    const e = entry();
    const key = await signedBy(e);
    change(e);
    expect((await check(e, [key])).kind, name).toBe("broken");
  }
});

test("a key under the name of another is found", async () => {
  const e = entry();
  const key = await signedBy(e);
  const other = await signedBy(entry());
  expect((await check(e, [{ id: key.id, pem: other.pem }])).kind).toBe("broken");
});
