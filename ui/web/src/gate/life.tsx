import type { ReactNode } from "react";
import type { Decision, Grant, Schemas } from "../api/client";
import type { GateTold, Told } from "../data/told";
import { Said } from "../parts/said";
import { short } from "../parts/id";
import { At, length } from "../parts/time";
import { Inline } from "../parts/value";
import { onRecord } from "../text/json";
import { done } from "./decide";
import { Settle } from "./neighbours";
import { isFailing, isUnheard, Tellings } from "./told";
import { Why } from "./why";
import css from "./life.module.css";

type Tone = "done" | "now" | "failed" | "unknown" | "none";
type Event = { name: string; at?: string; tone: Tone; lines: ReactNode[]; told?: Told[] };

/** Life is what happened to a question, a line an event, with who was told. What did not happen is hollow. */
export function Life({ grant, told }: { grant: Grant; told?: GateTold | undefined }) {
  const events = eventsOf(grant, told);
  return (
    <ol className={css.life} aria-label="what happened">
      {events.map((e, i) => (
        <li key={i} className={css[e.tone]}>
          <b>{e.name}</b>
          {e.at && (
            <span>
              <At at={e.at} />
            </span>
          )}
          {e.lines.map((l, j) => (
            <span key={j}>{l}</span>
          ))}
          {e.told && <Tellings of={e.told} />}
        </li>
      ))}
    </ol>
  );
}

function eventsOf(grant: Grant, told: GateTold | undefined): Event[] {
  const g = grant.gate;
  const of = (...events: Told["event"][]) => (told?.items ?? []).filter((t) => events.includes(t.event));
  const at = (seq: number | undefined) => (told?.items ?? []).filter((t) => t.seq === seq);
  const opened = of("gate.opened", "effect.unknown");
  const unheard = !g.decision && isUnheard(opened);
  const asked = (g.assignees ?? []).join(", ");
  const all: Event[] = [
    {
      name: "Proposed",
      at: g.createdAt,
      tone: "done",
      lines: [
        <Said>{g.requestedBy ? `by ${g.requestedBy}` : "by the program"}</Said>,
        asked && <Said>{`asked of ${asked}`}</Said>,
        g.note && <Said>{`“${g.note}”`}</Said>,
      ].filter(Boolean),
      ...(unheard ? {} : { told: opened }),
    },
  ];
  if (unheard)
    all.push({ name: "Nobody was told yet", tone: isFailing(opened) ? "failed" : "none", lines: [], told: opened });
  const between: (Event & { at: string })[] = [
    ...(g.assignments ?? []).map((a) => ({
      name: a.escalation ? "Escalated" : a.takesBack ? "Taken back" : "Delegated",
      at: a.at,
      tone: "done" as const,
      lines: [
        <Said>
          {a.escalation
            ? `to ${a.to.join(", ")}${a.replace ? " only" : ""}`
            : a.takesBack
              ? `by ${a.by}`
              : `${a.by} to ${a.to.join(", ")}`}
        </Said>,
        a.reason && <Said>{`“${a.reason}”`}</Said>,
      ].filter(Boolean),
      told: at(a.seq),
    })),
    ...(g.notices ?? []).map((n) => ({
      name: notices[n.kind],
      at: n.at,
      tone: "done" as const,
      lines: noticeLines(n),
      told: at(n.seq),
    })),
    ...(g.votes ?? []).map((v) => ({
      name: "Vote",
      at: v.at,
      tone: "done" as const,
      lines: decisionLines(v),
    })),
  ];
  all.push(...between.sort((a, b) => Date.parse(a.at) - Date.parse(b.at)));
  const d = g.decision;
  if (!d)
    return [
      ...all,
      ...escalates(grant),
      {
        name: g.expiresAt ? "Waits until its deadline" : "Waits",
        at: g.expiresAt,
        tone: "now",
        lines: [silence(told)].filter(Boolean),
      },
      hollow("Executed"),
    ];
  const over = d.verdict === "reject" || d.verdict === "expire" || d.verdict === "cancel";
  all.push({
    name: `Decided: ${done(d.verdict)}`,
    at: d.at,
    tone: d.verdict === "reject" ? "failed" : over ? "none" : "done",
    lines: decisionLines(d, grant.why),
    told: of("gate.decided"),
  });
  if (grant.licenses === 0) return all;
  if (over) return [...all, hollow("Released"), hollow("Executed")];
  for (const use of grant.uses) all.push(...useEvents(use));
  if (grant.uses.length === 0)
    all.push({ ...hollow("Not executed"), lines: [approvals[grant.approval ?? ""] ?? "nothing ran under it yet"] });
  return all;
}

/** silence says that no endpoint is told of a question: whoever is asked has to look here. */
function silence(told: GateTold | undefined): string | undefined {
  if (!told || told.items.some((t) => t.event === "gate.opened")) return undefined;
  if (told.endpoints === 0) return "this server tells nobody: it has no webhook, Slack or mail";
  return "the rules of the endpoints leave it out: people see it here only";
}

/** escalates says when others are asked, too, if nobody decides before. */
function escalates({ gate }: Grant): Event[] {
  const e = gate.escalation;
  if (!e || (gate.assignments ?? []).some((a) => a.escalation)) return [];
  const to = `to ${e.to.join(", ")}${e.replace ? " only" : ""}`;
  return [{ name: "Escalates", at: e.at, tone: "none", lines: [<Said>{to}</Said>] }];
}

const notices = { reminder: "Reminded", snooze: "Set aside", unsnooze: "Taken up again" };

const noticeLines = (n: Schemas["Notice"]): ReactNode[] =>
  [
    n.kind === "reminder" ? "those who may decide" : <Said>{`by ${n.by}`}</Said>,
    n.kind === "snooze" && n.until && (
      <>
        until <At at={n.until} />
      </>
    ),
    n.reason && <Said>{`“${n.reason}”`}</Said>,
  ].filter(Boolean);

const hollow = (name: string): Event => ({ name, tone: "none", lines: [] });

const approvals: Record<string, string> = {
  usable: "nothing ran under it yet; it may be used",
  lapsed: "it lapsed unused, and is asked for again",
  ended: "it was never used, and cannot be any more",
};

const decisionLines = (d: Decision, why?: string): ReactNode[] =>
  [
    <Said>{`${done(d.verdict)} by ${d.by}${d.for ? ` for ${d.for}` : ""}`}</Said>,
    d.token ? "by an approval token" : d.actor && d.actor !== d.by && <Said>{`sent by ${d.actor}`}</Said>,
    d.reason && <Why decision={d} told={why} />,
    d.shown && <>digest {short(d.shown)}</>,
  ].filter(Boolean);

const endings: Record<string, { name: string; tone: Tone }> = {
  decided: { name: "Not done", tone: "none" },
  released: { name: "Under way", tone: "now" },
  executed: { name: "Executed", tone: "done" },
  unknown: { name: "Outcome unknown", tone: "unknown" },
};

function useEvents(use: Schemas["Use"]): Event[] {
  const attempts = use.attempts ?? [];
  const released: Event[] = attempts.map((a, i) => ({
    name: "Released",
    at: a.at,
    tone: a.undone ? ("failed" as const) : ("done" as const),
    lines: [
      a.worker && <Said>{`to ${a.worker.replace(/^worker:/, "")}`}</Said>,
      `grant used, attempt ${i + 1}`,
      a.undone && "it did not act",
    ].filter(Boolean),
  }));
  const end = endings[use.status] ?? { name: use.status, tone: "now" as const };
  const outcome = onRecord(use.outcome);
  const last = attempts.at(-1)?.at;
  const took = last && use.status === "executed" ? `, took ${length(Date.parse(use.at) - Date.parse(last))}` : "";
  return [
    ...released,
    {
      ...end,
      at: use.at,
      lines: [
        <Said>{`${use.name}${use.occurrence ? ` [${use.occurrence + 1}]` : ""}${took}`}</Said>,
        use.status === "unknown" && <Settle thread={use.thread} />,
        use.failed ? `${use.failed} attempts before did not act` : "",
        outcome && <Inline node={outcome} max={80} />,
      ].filter(Boolean),
    },
  ];
}
