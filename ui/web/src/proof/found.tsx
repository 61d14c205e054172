import type { Report, Verification } from "../data/proof";
import { Said } from "../parts/said";
import { exact, length } from "../parts/time";
import css from "./proof.module.css";

/** count says how many there are, with the noun. */
export const count = (n: number, one: string, many = `${one}s`) => `${n.toLocaleString("en")} ${n === 1 ? one : many}`;

/** bytes says a size in its largest unit. */
export function bytes(n: number): string {
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
  let i = 0;
  let of = n;
  while (of >= 1024 && i < units.length - 1) {
    of /= 1024;
    i++;
  }
  return i === 0 ? count(n, "byte") : `${of.toFixed(of < 10 ? 1 : 0)} ${units[i]}`;
}

/** uncovered says where entries are that no valid signature covers: after a thread's last one, or in a thread that has none. */
export function uncovered({ covered, unsigned }: Pick<Report, "covered" | "unsigned">): string {
  const without = `in ${count(unsigned, "thread")} without any valid signature`;
  const since = "since the last valid signature of their thread";
  if (!unsigned) return since;
  return covered ? `${since}, or ${without}` : without;
}

type Fact = { name: string; value: string; says: string; bad?: boolean };

/** Found is what a verification found, a line a fact. */
export function Found({ report, of }: { report: Report; of: Verification }) {
  const facts: Fact[] = [
    {
      name: "Signed",
      value: `${report.covered.toLocaleString("en")} of ${count(report.entries, "entry", "entries")}`,
      says: report.uncovered
        ? `${count(report.uncovered, "entry", "entries")} not: ${uncovered(report)}. Only a later entry of the same thread can cover them, and one that has ended may get none`
        : "up to the end of every thread",
    },
    {
      name: "Threads",
      value: report.threads.toLocaleString("en"),
      says: report.unsigned
        ? `${report.unsigned.toLocaleString("en")} without any valid signature`
        : "each has a valid signature",
      bad: report.unsigned > 0 && report.covered > 0,
    },
    {
      name: "Hashed",
      value: bytes(report.bytes),
      says: `${count(report.records, "record")}, ${count(report.checkpoints, "checkpoint")} kept`,
    },
    {
      name: "Effects",
      value: `${report.granted} approved`,
      says: [
        report.ungranted.length + (report.ungrantedMore ?? 0) > 0 &&
          `${report.ungranted.length + (report.ungrantedMore ?? 0)} without an approval`,
        report.unknown && `${report.unknown} with an unknown outcome`,
        report.atWorkers && `${report.atWorkers} by workers, in ${report.attempts ?? 0} attempts`,
      ]
        .filter(Boolean)
        .join(", "),
      bad: !!report.unknown,
    },
  ];
  if (of.witness)
    facts.push({
      name: "Witness",
      value: `${report.witnessed} of ${count(of.witness.threads, "thread")}`,
      says: `of ${exact(of.witness.at)}, signed by ${of.witness.key}: so many still have what it saw`,
      bad: report.witnessed < of.witness.threads,
    });
  if (report.removed)
    facts.push({ name: "Removed", value: count(report.removed, "body", "bodies"), says: "as signed records attest" });
  if (of.endedAt)
    facts.push({
      name: "Took",
      value: length(Date.parse(of.endedAt) - Date.parse(of.startedAt)),
      says: exact(of.endedAt),
    });
  return (
    <dl className={css.facts} aria-label="what was verified">
      {facts.map((f) => (
        <div key={f.name}>
          <dt>{f.name}</dt>
          <dd>
            <b>{f.value}</b>
            <span className={f.bad ? css.badText : undefined}>
              <Said>{f.says}</Said>
            </span>
          </dd>
        </div>
      ))}
      {report.keys.map((k) => (
        <div key={k.id}>
          <dt>Key</dt>
          <dd>
            <b>{count(k.valid, "signature")}</b>
            <span className={k.known && k.valid === k.signatures ? undefined : css.badText}>
              <Said>{k.id}</Said>
              {!k.known && ", which is not among the keys here"}
              {k.known && k.valid < k.signatures && `, and ${k.signatures - k.valid} that do not fit`}
            </span>
          </dd>
        </div>
      ))}
    </dl>
  );
}
