// Sums of decimals as they are on record, without floats.

const plain = /^-?\d+(\.\d+)?$/;

/**
 * sumOf adds amounts exactly, with as many places as the longest has. It is undefined where one is not a number,
 * and where no one has a fraction: whole numbers are numbers of accounts and orders as often as amounts.
 */
export function sumOf(numbers: string[]): string | undefined {
  if (!numbers.some((n) => n.includes(".")) || !numbers.every((n) => plain.test(n))) return undefined;
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
