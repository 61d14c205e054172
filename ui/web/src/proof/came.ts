import type { Act } from "../data/proof";

/** Value is what a record of a login, a refusal or a token says. */
interface Value {
  person?: string;
  role?: string;
  method?: string;
  address?: string;
  why?: string;
  count?: number;
  of?: { name: string; count: number }[];
  others?: number;
  expires?: string;
  groups?: string[];
  beside?: boolean;
}

const methods: Record<string, string> = {
  token: "by token",
  link: "by link",
  account: "by an account elsewhere",
  header: "by the header of a request",
  message: "by a message",
};

/** sums says in whose name, or where from, how many of a sum came. */
function sums(v: Value): string {
  const of = (v.of ?? []).map((s) => `${s.name || "unknown"} ${s.count.toLocaleString("en")}`).join(", ");
  return [`${(v.count ?? 0).toLocaleString("en")} times: ${of}`, v.others && `others ${v.others.toLocaleString("en")}`]
    .filter(Boolean)
    .join(", ");
}

/** accessOf reads what an act says of a login, a refusal or a token, in one line; undefined for other acts. */
export function accessOf(a: Act): { line: string; unknown: string } | undefined {
  if (!["login", "logout", "refusal", "token"].includes(a.kind)) return undefined;
  const v = (a.record.signal?.value ?? {}) as Value;
  const unknown = v.beside ? "beside the server" : (v.count ?? 0) > 1 ? "several" : v.person || "unknown";
  if (v.count) return { line: sums(v), unknown };
  const parts = [
    a.kind === "token" && v.person,
    v.role,
    v.groups?.length && `groups ${v.groups.join(", ")}`,
    v.method && (methods[v.method] ?? v.method),
    v.address && `from ${v.address}`,
    v.expires && `until ${v.expires}`,
    v.why,
  ];
  return { line: parts.filter(Boolean).join(" · "), unknown };
}
