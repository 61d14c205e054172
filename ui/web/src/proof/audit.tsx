import { Check, Download, Minus } from "lucide-react";
import { useState } from "react";
import { Link, useLocation, useSearch } from "wouter";
import { useAudit, type Act, type AuditQuery } from "../data/proof";
import { Button } from "../parts/button";
import { Empty, Failure, Skeleton } from "../parts/notice";
import { named } from "../parts/id";
import { Said } from "../parts/said";
import { Table } from "../parts/table";
import { accessOf } from "./came";
import { At } from "../parts/time";
import css from "./proof.module.css";

const kinds = [
  "question",
  "decision",
  "vote",
  "delegation",
  "signal",
  "change",
  "effect",
  "release",
  "removal",
  "login",
  "logout",
  "refusal",
  "token",
] as const;
type Kind = (typeof kinds)[number];

const periods = [
  { name: "24 hours", days: 1 },
  { name: "7 days", days: 7 },
  { name: "30 days", days: 30 },
  { name: "a year", days: 366 },
];

/** begins is the beginning of a period, by the hour, so that the same question is asked once. */
const begins = (days: number) => {
  const hour = 3600_000;
  return new Date(Math.floor(Date.now() / hour) * hour - days * 24 * hour).toISOString();
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
  const exported = `/api/audit/export?${new URLSearchParams(Object.entries(asked) as [string, string][])}`;
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
        <a className={css.download} href={exported} download="audit.jsonl">
          <Download size={14} strokeWidth={1.5} aria-hidden /> Export
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
              <Said key="did">{did(a)}</Said>,
              <span key="what" title={what(a)}>
                <Said>{what(a)}</Said>
              </span>,
              <Place key="thread" act={a} />,
              a.signed ? (
                <Check key="signed" size={14} aria-label="the entry has a signature" />
              ) : (
                <Minus key="signed" size={14} aria-label="covered by a later signature" className={css.faint} />
              ),
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

/** Place is where an act is on record. The thread of logins and tokens has no page of its own. */
function Place({ act }: { act: Act }) {
  const shown = <Said>{`${named(act.thread)} #${act.seq}`}</Said>;
  if (accessOf(act)) return shown;
  return <Link href={`/threads/${encodeURIComponent(act.thread)}`}>{shown}</Link>;
}

function Who({ act, href, pick }: { act: Act; href: (name: string) => string; pick: (name: string) => void }) {
  const access = accessOf(act);
  if (!act.by && access) return <span className={css.faint}>{access.unknown}</span>;
  if (!act.by) return <span className={css.faint}>the program</span>;
  const { by } = act;
  return (
    <>
      <Link href={href(by)} onClick={() => pick(by)}>
        <Said>{by}</Said>
      </Link>
      {act.actor && act.actor !== by && (
        <span className={css.faint}>
          {" "}
          by <Said>{act.actor}</Said>
        </span>
      )}
    </>
  );
}

const verbs: Partial<Record<Kind, string>> = {
  question: "asked",
  delegation: "delegated",
  signal: "signalled",
  change: "changed",
  effect: "acted",
  release: "released",
  removal: "removed",
  login: "logged in",
  logout: "logged out",
  refusal: "was refused",
};

const verdicts: Record<string, string> = {
  approve: "approved",
  reject: "rejected",
  edit: "edited",
  respond: "answered",
  expire: "let expire",
  cancel: "withdrew",
};

/** did is the verb of an act. */
function did(a: Act): string {
  if (a.kind === "token") return a.record.signal?.name === "$token-made" ? "made a token" : "revoked a token";
  const verdict = a.record.decision?.verdict ?? a.record.vote?.verdict;
  if (verdict) return `${a.kind === "vote" ? "voted: " : ""}${verdicts[verdict] ?? verdict}`;
  return verbs[a.kind as Kind] ?? a.kind;
}

/** what says in one line what an act was about, by its own words. */
function what(a: Act): string {
  const r = a.record;
  const d = r.decision ?? r.vote;
  const access = accessOf(a);
  if (access) return access.line;
  if (r.gate) return r.gate.text?.split("\n")[0] ?? r.gate.name;
  if (d) return [d.gate, d.reason && `“${d.reason}”`].filter(Boolean).join(" ");
  if (r.assignment) return [`to ${r.assignment.to.join(", ")}`, r.assignment.reason].filter(Boolean).join(": ");
  if (r.signal) return r.signal.name;
  if (r.checkpoint) return [r.checkpoint.kind, r.checkpoint.node, r.checkpoint.branch].filter(Boolean).join(" · ");
  if (r.step) return [r.step.name, r.step.effect, r.step.grant].filter(Boolean).join(" · ");
  if (r.release) return "a version of the thread";
  if (r.removal) return "what the policy or a person let go";
  return "";
}
