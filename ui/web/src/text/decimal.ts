// Sums of decimals as they are on record, without floats.

const plain = /^-?\d+(\.\d+)?$/;

/** sum adds decimals exactly, with as many places as the longest has. It is undefined where one is none. */
export function sum(numbers: string[]): string | undefined {
  if (numbers.length === 0 || !numbers.every((n) => plain.test(n))) return undefined;
  const places = Math.max(...numbers.map((n) => (n.split(".")[1] ?? "").length));
  const scaled = (n: string) => {
    const [whole = "0", part = ""] = n.replace("-", "").split(".");
    const value = BigInt(whole + part.padEnd(places, "0"));
    return n.startsWith("-") ? -value : value;
  };
  const total = numbers.reduce((a, n) => a + scaled(n), 0n);
  const digits = String(total < 0n ? -total : total).padStart(places + 1, "0");
  const text = places ? `${digits.slice(0, -places)}.${digits.slice(-places)}` : digits;
  return total < 0n ? `-${text}` : text;
}
