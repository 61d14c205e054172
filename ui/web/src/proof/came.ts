import type { Act } from "../data/proof";

/** Value is what a record of a login, a refusal or a token says of who came. */
interface Value {
  person?: string;
  count?: number;
  beside?: boolean;
}

/** strangerOf says who came, where a login, a refusal or a token has no name. It is undefined for other acts. */
export function strangerOf(a: Act): string | undefined {
  if (!["login", "logout", "refusal", "token"].includes(a.kind)) return undefined;
  const v = (a.record.signal?.value ?? {}) as Value;
  if (v.beside) return "beside the server";
  return (v.count ?? 0) > 1 ? "several" : v.person || "unknown";
}
