/** A reason on record has at most so many bytes as UTF-8. */
const most = 4000;

/** tooLong says by how much a reason is longer than what goes on record, or nothing. It is never cut. */
export function tooLong(reason: string): string {
  const over = new TextEncoder().encode(reason).length - most;
  if (over <= 0) return "";
  const n = over.toLocaleString("en");
  return `The reason is ${n} ${over === 1 ? "byte" : "bytes"} too long. At most 4,000 go on record; letters with accents have two bytes or more.`;
}
