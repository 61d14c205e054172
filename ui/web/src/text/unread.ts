// Why something on record cannot be read, in plain words: a word for it, the reason, and who could.

export type Unread = { word: string; why: string; who: string };

type Answer = { code?: string | undefined; detail: string };

/** unreadOf says why an answer has no content. Nothing for an answer of another kind, such as no connection. */
export function unreadOf({ code, detail }: Answer): Unread | undefined {
  switch (code) {
    case "sealed":
      return {
        word: "encrypted",
        why: `This server has no key that opens it: ${detail}.`,
        who: "A server that is started with that key can read it. Names, times and hashes are not encrypted, and are in the tab Entry.",
      };
    case "not-found":
      return {
        word: "removed",
        why: "Nothing of it is on record: an operator or a policy for old checkpoints took it out, or it was never there.",
        who: "It can be read only in a backup from before. Who removed it, when and why stays on record, at Proof, Who did what.",
      };
    case "corrupt":
      return {
        word: "damaged",
        why: `What is stored is not what was written: ${detail}.`,
        who: "A backup from before the damage has it. Proof, Verify now says how far it goes.",
      };
    default:
      return undefined;
  }
}

/** binaryOf says of bytes that are no JSON what they are. */
export const binaryOf = (codec: string, size: string): Unread => ({
  word: "binary",
  why: `It has ${size} of the codec ${codec}, which is no JSON.`,
  who: "The program that wrote it can read it; here its bytes stand as base64.",
});
