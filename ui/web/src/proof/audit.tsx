import { Download } from "lucide-react";
import { useState } from "react";
import { useLocation, useSearch } from "wouter";
import { now } from "../api/clock";
import { useAudit, type AuditQuery } from "../data/proof";
import { Button } from "../parts/button";
import { Empty, Failure, Skeleton } from "../parts/notice";
import { Said } from "../parts/said";
import { Table } from "../parts/table";
import { At } from "../parts/time";
import { Place, Signed, What, Who } from "./act";
import css from "./proof.module.css";

const kinds = [
  "question",
  "decision",
  "vote",
  "delegation",
  "signal",
  "change",
  "effect",
  "task",
  "release",
  "removal",
  "login",
  "logout",
  "refusal",
  "token",
] as const;

const periods = [
  { name: "24 hours", days: 1 },
  { name: "7 days", days: 7 },
  { name: "30 days", days: 30 },
  { name: "a year", days: 366 },
];

/** begins is the beginning of a period, by the hour, so that the same question is asked once. */
const begins = (days: number) => {
  const hour = 3600_000;
  return new Date(Math.floor(now() / hour) * hour - days * 24 * hour).toISOString();
};

const page = 200;

/** Audit lists who did what, by person and time. */
export function Audit({ may }: { may: boolean }) {
  const query = new URLSearchParams(useSearch());
  const [, go] = useLocation();
  const days = Number(query.get("days")) || 7;
  const by = query.get("by") ?? "";
  const kind = kinds.find((k) => k === query.get("kind"));
  const [typed, setTyped] = useState(by);
  const [shown, setShown] = useState(page);
  const asked: AuditQuery = { since: begins(days), ...(by ? { by } : {}), ...(kind ? { kind } : {}) };
  const trail = useAudit(asked, may);
  if (!may) return <Empty title="For operators">Only an operator reads who did what.</Empty>;
  const address = (change: Record<string, string | undefined>) => {
    const all: Record<string, string | undefined> = { show: "audit", days: String(days), by, kind, ...change };
    const kept = Object.entries(all).filter((e): e is [string, string] => !!e[1]);
    return `/proof?${new URLSearchParams(kept)}`;
  };
  const exported = (format: string) =>
    `/api/audit/export?${new URLSearchParams([...(Object.entries(asked) as [string, string][]), ["format", format]])}`;
  const acts = trail.data?.acts ?? [];
  return (
    <>
      <form
        className={css.filters}
        aria-label="filter"
        onSubmit={(e) => {
          e.preventDefault();
          go(address({ by: typed.trim() || undefined }));
        }}
      >
        <input
          className={css.field}
          aria-label="person"
          placeholder="person, then Enter"
          maxLength={200}
          value={typed}
          onChange={(e) => setTyped(e.target.value)}
        />
        <select
          className={css.field}
          aria-label="kind"
          value={kind ?? ""}
          onChange={(e) => go(address({ kind: e.target.value || undefined }))}
        >
          <option value="">everything</option>
          {kinds.map((k) => (
            <option key={k} value={k}>
              {k}s
            </option>
          ))}
        </select>
        <select
          className={css.field}
          aria-label="period"
          value={days}
          onChange={(e) => go(address({ days: e.target.value }))}
        >
          {periods.map((p) => (
            <option key={p.days} value={p.days}>
              the last {p.name}
            </option>
          ))}
        </select>
        <span className={css.space} />
        <a className={css.download} href={exported("csv")} download="audit.csv" title="a table for a spreadsheet">
          <Download size={14} strokeWidth={1.5} aria-hidden /> Export CSV
        </a>
        <a
          className={css.download}
          href={exported("jsonl")}
          download="audit.jsonl"
          title="a line of JSON an act, each with its record"
        >
          <Download size={14} strokeWidth={1.5} aria-hidden /> Export JSON
        </a>
      </form>
      {trail.error && <Failure error={trail.error} />}
      {trail.isPending && <Skeleton rows={10} height={36} />}
      {trail.data && acts.length === 0 && (
        <Empty title="Nobody did anything of this">
          What was asked, decided, delegated, signalled, changed by hand, done to the world, released and removed stands
          here, each with who did it; and who logged in and out, was refused, or made and revoked tokens.
        </Empty>
      )}
      {acts.length > 0 && (
        <Table
          label="who did what"
          columns={[
            { name: "Who" },
            { name: "When" },
            { name: "Did" },
            { name: "What", grow: true },
            { name: "Thread" },
            { name: "Signed" },
          ]}
          rows={acts.slice(0, shown).map((a) => ({
            key: `${a.thread} ${a.seq} ${a.kind} ${a.record.cursor}`,
            cells: [
              <Who key="who" act={a} href={(name) => address({ by: name })} pick={setTyped} />,
              <At key="at" at={a.at} />,
              <Said key="did">{a.did}</Said>,
              <What key="what" act={a} />,
              <Place key="thread" act={a} />,
              <Signed key="signed" act={a} />,
            ],
          }))}
        />
      )}
      {(acts.length > shown || trail.data?.more) && (
        <p className={css.line}>
          {acts.length > shown && <Button onClick={() => setShown(shown + 5 * page)}>Show more</Button>}
          <span className={css.faint}>
            {Math.min(shown, acts.length)} of {acts.length.toLocaleString("en")}
            {trail.data?.more && "; there are others: choose a person, a kind or a shorter period, or export all"}
          </span>
        </p>
      )}
    </>
  );
}
