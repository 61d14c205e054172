import { Link2 } from "lucide-react";
import { useEffect, useState } from "react";
import { useLocation } from "wouter";
import type { Decision, Gate, Grant, Schemas } from "../api/client";
import { useGate, useGrant } from "../data/gates";
import { useEntry } from "../data/entry";
import { useMe } from "../data/me";
import { useTold } from "../data/told";
import { Button } from "../parts/button";
import { Card } from "../parts/card";
import { Chip } from "../parts/chip";
import { named as shortOf } from "../parts/id";
import { later } from "../parts/later";
import { Skeleton } from "../parts/notice";
import { Said } from "../parts/said";
import { At, length } from "../parts/time";
import { Value } from "../parts/value";
import { onRecord } from "../text/json";
import { Bar } from "../shell/bar";
import { Unread } from "../shell/missing";
import { marked } from "../text/hidden";
import { asksPeople } from "../thread/items";
import { titleOf, whatOf } from "../wait/words";
import { GateDetail } from "./detail";
import { Life } from "./life";
import { Newer } from "./neighbours";
import { stateOf } from "./decide";
import { Answer, DecidedBy, RunFailed } from "./settled";
import { Verified, VerifiedUse } from "./verified";
import css from "./screen.module.css";

const WaitPage = later(async () => (await import("../wait/page")).WaitPage);

/** GateScreen is one question with its life: who was asked, who decided, and what ran under it. */
export function GateScreen({ id }: { id: string }) {
  const name = decodeURIComponent(id);
  const gate = useGate(name);
  const grant = useGrant(name);
  const told = useTold(name);
  const [, go] = useLocation();
  useEffect(() => {
    if (gate.data)
      document.title = `${marked(asksPeople(gate.data) ? gate.data.intent : titleOf(gate.data))} · Posthouse`;
  }, [gate.data]);
  if (gate.data && !asksPeople(gate.data))
    return (
      <>
        <Bar title={<Said>{whatOf(gate.data) || "A wait"}</Said>} end={<CopyLink />} />
        <WaitPage gate={gate.data} />
      </>
    );
  return (
    <>
      <Bar
        {...(gate.data ? { up: { name: "Inbox", href: "/" } } : {})}
        title={
          gate.data?.thread ? (
            <>
              Question of <Said>{shortOf(gate.data.thread)}</Said>
            </>
          ) : (
            "Question"
          )
        }
        end={<CopyLink />}
      />
      {gate.isPending && <Skeleton rows={10} height={48} />}
      {gate.error && !gate.data && (
        <Unread
          error={gate.error}
          what="question"
          name={name}
          ways={[
            { name: "Inbox", href: "/" },
            { name: "Decided questions", href: "/?show=decided" },
          ]}
        >
          Its thread was deleted, or the link is cut: an id of a question is gate- and 36 characters.
        </Unread>
      )}
      <SentTo />
      {gate.data && (
        <div className={css.screen}>
          <div className={css.main}>
            <GateDetail
              key={gate.data.id}
              page
              listed={gate.data}
              gone={false}
              go={(next) => go(`/gates/${encodeURIComponent(next)}`)}
            >
              <Newer gate={gate.data} />
              {gate.data.decision?.value !== undefined && (
                <Card title={gate.data.decision.verdict === "edit" ? "What it was changed to" : "The answer"}>
                  <div className={css.body}>
                    <Answer decision={gate.data.decision} />
                  </div>
                </Card>
              )}
              {gate.data.decision && (
                <Card title="Proof of the decision" label="proof">
                  <div className={css.body}>
                    <Verified thread={gate.data.thread} decision={gate.data.decision} />
                  </div>
                </Card>
              )}
              {gate.data.decision && <RunFailed gate={gate.data} />}
              {grant.data && <Receipts gate={gate.data} grant={grant.data} />}
            </GateDetail>
          </div>
          <aside className={css.life} tabIndex={0} aria-label="its life">
            {grant.data && <Life grant={grant.data} told={told.data} />}
          </aside>
        </div>
      )}
    </>
  );
}

/** SentTo says who a link was sent to, if somebody else opened it: they answer as themselves. */
function SentTo() {
  const me = useMe();
  const meant = new URLSearchParams(location.hash.slice(1)).get("for");
  if (!me.data || !meant || meant === me.data.name) return null;
  return (
    <p className={css.sent} role="note">
      This link was sent to <Said>{meant}</Said>. You are <Said>{me.data.name}</Said>, and answer as yourself.
    </p>
  );
}

function CopyLink() {
  const [copied, setCopied] = useState(false);
  return (
    <Button
      icon={<Link2 size={16} strokeWidth={1.5} aria-hidden />}
      onClick={() => {
        void navigator.clipboard?.writeText(location.href).then(() => setCopied(true));
      }}
    >
      {copied ? "Copied" : "Link"}
    </Button>
  );
}

/** Receipts say for each effect what licensed it, what ran, and what it returned. */
function Receipts({ gate, grant }: { gate: Gate; grant: Grant }) {
  return (
    <>
      {grant.uses.map((u) => (
        <Receipt key={`${u.thread}/${u.seq}/${u.name}`} use={u} gate={gate} state={stateOf(grant.gate, grant)} />
      ))}
    </>
  );
}

/** nothing says why an effect has no result. */
function nothing({ status, failed }: Schemas["Use"]): string {
  if (status === "executed") return "nothing";
  if (status === "decided" && failed)
    return `nothing: ${failed} ${failed === 1 ? "attempt" : "attempts"}, known not to have acted`;
  return status === "released" ? "nothing yet" : "not known";
}

/** Licensed says who decided, with all whose votes were needed. */
function Licensed({ gate, decision }: { gate: Gate; decision: Decision }) {
  const others = (gate.votes ?? []).filter((v) => v.verdict === "approve" && v.by !== decision.by).map((v) => v.by);
  return (
    <>
      <DecidedBy decision={decision} />
      {others.length > 0 && (
        <>
          , with the {others.length === 1 ? "vote" : "votes"} of <Said>{others.join(", ")}</Said>
        </>
      )}
    </>
  );
}

function Receipt({ use, gate, state }: { use: Schemas["Use"]; gate: Gate; state: string }) {
  const outcome = onRecord(use.outcome);
  const attempts = use.attempts ?? [];
  const entry = useEntry(use.thread, use.first);
  const began = use.first === use.seq ? use.at : entry.data?.at;
  const rows: [string, React.ReactNode][] = [
    ["effect", <Said>{`${use.name}${use.occurrence ? ` [${use.occurrence + 1}]` : ""}, ${use.effect}`}</Said>],
    ["licensed", gate.decision ? <Licensed gate={gate} decision={gate.decision} /> : "by nobody"],
    [
      "began",
      <>
        {began ? <At at={began} /> : "…"}, entry #{use.first}
        {attempts.length > 1 && `, ${attempts.length} attempts`}
      </>,
    ],
    [
      "ended",
      use.status === "executed" ? (
        <>
          <At at={use.at} />, entry #{use.seq}
          {began && `, took ${length(Date.parse(use.at) - Date.parse(began))}`}
        </>
      ) : use.status === "decided" ? (
        "it was not done"
      ) : (
        "not yet, as far as is known"
      ),
    ],
    ["branch", <Said>{use.branch}</Said>],
    ["returned", outcome ? <Value node={outcome} /> : nothing(use)],
  ];
  return (
    <Card
      title="Receipt"
      label="receipt of the effect"
      also={<Chip state={use.status === "decided" ? state : use.status} />}
    >
      <dl className={css.receipt}>
        {rows.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {gate.decision && (
        <div className={css.body}>
          <VerifiedUse use={use} gate={gate.id} />
        </div>
      )}
    </Card>
  );
}
