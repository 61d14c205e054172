// What a decision is worth: how many effects it licenses and for how long, and whose change of what is asked it is about.

import type { Gate } from "../api/client";

type Asked = Pick<Gate, "uses" | "validFor" | "requesters">;

/** validFor is in nanoseconds. */
const units: [number, string][] = [
  [86_400e9, "day"],
  [3_600e9, "hour"],
  [60e9, "minute"],
  [1e9, "second"],
];

/** span returns a time as words, without rounding up what an approval is good for. */
export function span(nanos: number): string {
  const [unit, name] = units.find(([u]) => nanos >= u && nanos % u === 0) ?? [1e9, "second"];
  const n = nanos / unit;
  return `${n.toLocaleString("en", { maximumFractionDigits: 3 })} ${name}${n === 1 ? "" : "s"}`;
}

/** licenseOf says how many effects an approval licenses, and for how long. It is empty of an answer to a question. */
export function licenseOf({ uses = 0, validFor = 0 }: Asked): string {
  if (uses === 0) return "";
  const many = `${uses.toLocaleString("en")} ${uses === 1 ? "effect" : "effects"}`;
  return `an approval licenses ${many}${validFor ? `, for ${span(validFor)}` : ""}`;
}

/** How a person other than the asker put something into what is asked. Who sends an input asks. */
const asks = ["", "input", "start"];

/** changesOf says who changed what is asked, and how. */
export const changesOf = ({ requesters = [] }: Asked): string[] =>
  requesters
    .filter((r) => !asks.includes(r.how ?? ""))
    .map((r) =>
      r.how === "answer"
        ? `${r.name} answered ${(r.what ?? []).join(", ") || "an earlier question"}`
        : `${r.name} changed ${(r.what ?? []).join(", ") || "what is asked"} (${r.how})`,
    );
