// Reads the primitives of the log's format, docs/format.md, section 1. There is one encoding of a value:
// a second one is refused, so that whatever is read is what was hashed.

/** Malformed is thrown for bytes that the format forbids. */
export class Malformed extends Error {}

type Bytes = Uint8Array<ArrayBuffer>;

const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });
/** isUuid says whether a text is a UUID of version 7 as the format spells it. */
export const isUuid = (text: string) => uuid.test(text);
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const largest = (1n << 64n) - 1n;

/** lastMoment is the end of the year 9999, in Unix milliseconds. */
const lastMoment = 253402300799999n;

export const hexOf = (bytes: Uint8Array) => Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join("");

/** A Reader reads one field after another. */
export class Reader {
  private at = 0;
  constructor(private readonly all: Bytes) {}

  fail(why: string): never {
    throw new Malformed(`${why}, at byte ${this.at}`);
  }

  raw(n: number): Bytes {
    if (n > this.all.length - this.at) this.fail("it ends too early");
    this.at += n;
    return this.all.slice(this.at - n, this.at);
  }

  byte(): number {
    return this.raw(1)[0] ?? 0;
  }

  bool(): boolean {
    const b = this.byte();
    if (b > 1) this.fail(`${b} is neither 0 nor 1`);
    return b === 1;
  }

  /** uint is a number in groups of seven bits, the lowest first, and has no group too many. */
  uint(): bigint {
    let n = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const b = this.byte();
      n |= BigInt(b & 127) << shift;
      if (b >= 128) {
        if (shift >= 63n) this.fail("a number is too long");
        continue;
      }
      if (b === 0 && shift > 0n) this.fail("a number is longer than it need be");
      if (n > largest) this.fail("a number has more than 64 bits");
      return n;
    }
  }

  /** below is a number under a limit that a JavaScript number holds. */
  below(limit: number): number {
    const n = this.uint();
    if (n >= BigInt(limit)) this.fail(`${n} is out of range`);
    return Number(n);
  }

  size = () => this.below(2 ** 40 + 1);
  u32 = () => this.below(2 ** 32);

  /** moment is a time in Unix milliseconds; 0 is none. */
  moment(): number {
    const n = this.uint();
    if (n > lastMoment) this.fail("a time is out of range");
    return Number(n);
  }

  /** count is how many items follow, each of at least one byte. */
  count(): number {
    const n = this.uint();
    if (n > BigInt(this.all.length - this.at)) this.fail(`${n} items do not fit`);
    return Number(n);
  }

  list<T>(item: () => T): T[] {
    return Array.from({ length: this.count() }, item);
  }

  bytes = () => this.raw(this.count());
  text = () => utf8.decode(this.bytes());

  /** other is a text of which one value is written as the empty text. */
  other(usual: string): string {
    const text = this.text();
    if (text === usual) this.fail(`${usual} in its long form`);
    return text || usual;
  }

  branch = () => this.other("main");
  codec = () => this.other("json");

  /** some is a text that is not empty. */
  some(): string {
    return this.text() || this.fail("an optional text is empty");
  }

  /** map reads pairs whose keys ascend by their bytes. */
  map(): Map<string, string> {
    const all = new Map<string, string>();
    let last: string | undefined;
    this.list(() => {
      const key = this.bytes();
      const hex = hexOf(key);
      if (last !== undefined && hex <= last) this.fail("keys do not ascend");
      last = hex;
      all.set(utf8.decode(key), this.text());
    });
    return all;
  }

  /** form reads an id: in short form the bytes of a UUID behind a prefix, else a text that could not be one. */
  private form(short: number, prefix: string): string {
    const form = this.byte();
    if (form === short) {
      const hex = hexOf(this.raw(16));
      const id = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
      return uuid.test(id) ? prefix + id : this.fail("an id is no UUID of version 7");
    }
    if (form !== 1) this.fail(`an id has the unknown form ${form}`);
    const id = this.text();
    if (id.startsWith(prefix) && uuid.test(id.slice(prefix.length))) this.fail("a UUID in its long form");
    return id;
  }

  id = () => this.form(0, "");
  gate = () => this.form(2, "gate-");

  /** code is the place of a word in a table. */
  code(table: readonly string[]): string {
    return table[this.below(table.length)] ?? "";
  }

  /** codeOr is a code, or the one behind the table and a word that is not in it. */
  codeOr(table: readonly string[]): string {
    const code = this.below(table.length + 1);
    if (code < table.length) return table[code] ?? "";
    const word = this.some();
    return table.includes(word) ? this.fail(`${word} in its long form`) : word;
  }

  done(): void {
    if (this.at !== this.all.length) this.fail(`${this.all.length - this.at} bytes are left over`);
  }
}
