// Which names a field for a person offers, and what is said of each.

import type { Known } from "../data/people";

const from: Record<string, string> = {
  token: "has an access token",
  login: "logged in here",
  decided: "decided before",
  asked: "is asked by a program",
  delegate: "was delegated to",
  substitute: "was named a substitute",
};

/** bars says why a person cannot be chosen, nothing if they can. */
export const bars = (p: Known): string =>
  p.barred?.replace(/ gate gate-[\w.:$-]+/, " this") || (p.decides === "no" ? (p.why ?? "cannot decide") : "");

/** says is one line on a name: why it cannot be chosen, or where it is known from. */
export const says = (p: Known): string =>
  bars(p) || (p.decides === "unknown" ? (p.why ?? "is not known") : p.known.map((k) => from[k] ?? k).join(", "));

const rank = (p: Known) => (bars(p) ? 2 : p.decides === "yes" ? 0 : 1);

/** offered are the names that have what was typed, those who may decide first. */
export function offered(all: Known[], typed: string, most: number): { shown: Known[]; more: number } {
  const wanted = typed.trim().toLowerCase();
  const fit = all
    .filter((p) => p.name.toLowerCase().includes(wanted))
    .sort((a, b) => rank(a) - rank(b) || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  return { shown: fit.slice(0, most), more: Math.max(0, fit.length - most) };
}

/** sentence begins with the name as it is, and with a capital where it begins with a word. */
const sentence = (text: string) =>
  `${text.replace(/^(there|it|the) /, (w) => (w[0] ?? "").toUpperCase() + w.slice(1))}.`;

/** fault says why a name cannot be sent as it is; ask is set where it takes a second confirmation. */
export function fault(
  name: string,
  known: Known | undefined,
  looking: boolean,
  sure: string,
): { says: string; ask?: boolean } {
  if (name === "") return { says: "Say who shall decide." };
  if (looking) return { says: `It is still looked up whether ${name} may decide. Send it again in a moment.` };
  const barred = known ? bars(known) : "";
  if (barred) return { says: sentence(barred) };
  if (known?.decides === "yes" || sure === name) return { says: "" };
  return {
    says: `${sentence(known?.why ?? `it could not be looked up whether ${name} may decide`)} Confirm below that it is meant.`,
    ask: true,
  };
}
