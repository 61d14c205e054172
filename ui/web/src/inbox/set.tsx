import { Check, X } from "lucide-react";
import { useState } from "react";
import { Link } from "wouter";
import type { Gate } from "../api/client";
import { send, useOutcome } from "../gate/decide";
import { Button } from "../parts/button";
import { Chip } from "../parts/chip";
import { Said } from "../parts/said";
import { Folds, useFolds } from "../parts/fold";
import { Value } from "../parts/value";
import { inline, onRecord } from "../text/json";
import { sumsOf } from "./sums";
import css from "./set.module.css";

const atOnce = 4;

type Verb = "approve" | "reject";

/**
 * SetDetail decides several gates of one question: a row each, a column a member, with what differs
 * marked and sums that are exact. Each gets a decision and a receipt of its own.
 */
export function SetDetail({
  gates,
  others,
  address,
}: {
  gates: Gate[];
  others: number;
  address: (id: string) => string;
}) {
  const [out, setOut] = useState(new Set<string>());
  const [verb, setVerb] = useState<Verb>();
  const [reason, setReason] = useState("");
  const [at, setAt] = useState<{ done: number; of: number }>();
  const { folded, showAll, scope } = useFolds();
  const chosen = gates.filter((g) => !out.has(g.id));
  const columns = gates[0]?.binding ?? [];
  const cell = (g: Gate, i: number) => onRecord(g.binding[i]?.value) ?? { kind: "text" as const, source: "null" };
  const differs = columns.map((_, i) => new Set(gates.map((g) => inline(cell(g, i)))).size > 1);
  const sums = sumsOf(
    columns.map((c) => c.name),
    chosen.map((g) => columns.map((_, i) => inline(cell(g, i)))),
  );
  const flip = (id: string) => {
    const next = new Set(out);
    if (!next.delete(id)) next.add(id);
    setOut(next);
  };
  const run = async (v: Verb) => {
    setVerb(undefined);
    const queue = [...chosen];
    let done = 0;
    setAt({ done, of: queue.length });
    const work = async () => {
      for (let g = queue.shift(); g; g = queue.shift()) {
        await send(g, { verb: v, reason });
        setAt({ done: ++done, of: chosen.length });
      }
    };
    await Promise.all(Array.from({ length: atOnce }, work));
  };
  return (
    <article className={css.set} aria-label="decide together">
      <div className={css.scroll}>
        <h2 className={css.title}>
          <Said>{gates[0]?.name}</Said>: {gates.length} questions
        </h2>
        <p className={css.about}>
          A row is a question, with the values that it is about exactly as they are on record. What differs is marked.
          Each gets a decision of its own.
          {others > 0 &&
            ` ${others} more of this name ${others === 1 ? "is" : "are"} not here: those are decided one by one.`}
        </p>
        <Folds scope={scope}>
          <div className={css.wide} tabIndex={0} role="group" aria-label="questions">
            <table className={css.table}>
              <thead>
                <tr>
                  <th scope="col">
                    <span className="visually-hidden">chosen</span>
                  </th>
                  <th scope="col">thread</th>
                  {columns.map((c) => (
                    <th key={c.name} scope="col">
                      <Said>{c.label}</Said>
                    </th>
                  ))}
                  <th scope="col">outcome</th>
                </tr>
              </thead>
              <tbody>
                {gates.map((g) => (
                  <tr key={g.id}>
                    <td>
                      <input
                        type="checkbox"
                        checked={!out.has(g.id)}
                        disabled={at !== undefined}
                        onChange={() => flip(g.id)}
                        aria-label={`decide ${g.thread}`}
                      />
                    </td>
                    <td>
                      <Link href={address(g.id)}>
                        <Said>{g.thread}</Said>
                      </Link>
                    </td>
                    {columns.map((c, i) => (
                      <td key={c.name} className={differs[i] ? css.differs : undefined}>
                        <Value node={cell(g, i)} />
                      </td>
                    ))}
                    <td>
                      <RowOutcome id={g.id} />
                    </td>
                  </tr>
                ))}
              </tbody>
              <tfoot>
                <tr>
                  <td />
                  <th scope="row">sum of {chosen.length}</th>
                  {columns.map((c, i) => (
                    <td key={c.name}>
                      <code>{sums[i]}</code>
                    </td>
                  ))}
                  <td />
                </tr>
              </tfoot>
            </table>
          </div>
        </Folds>
      </div>
      <footer className={css.bar}>
        {at ? (
          <p role="status">
            {at.done} of {at.of} sent{at.done === at.of ? ": each row says what became of it." : ""}
          </p>
        ) : verb ? (
          <form
            className={css.line}
            onSubmit={(e) => e.preventDefault()}
            onKeyDown={(e) => {
              if (e.key === "Escape") setVerb(undefined);
              else if (e.key === "Enter" && e.shiftKey) void run(verb);
              else return;
              e.preventDefault();
            }}
          >
            <input
              className={css.reason}
              autoFocus
              aria-label="reason"
              placeholder="reason, on record with each"
              maxLength={4000}
              value={reason}
              onChange={(e) => setReason(e.target.value)}
            />
            <Button tone={verb === "approve" ? "go" : "danger"} hint="Shift ⏎" onClick={() => void run(verb)}>
              {verb === "approve" ? "Approve" : "Reject"} {chosen.length}
            </Button>
            <Button hint="Esc" onClick={() => setVerb(undefined)}>
              Back
            </Button>
          </form>
        ) : (
          <div className={css.line}>
            <Button
              tone={folded > 0 ? "plain" : "go"}
              icon={<Check size={16} strokeWidth={1.5} aria-hidden />}
              disabled={chosen.length === 0}
              onClick={() => (folded > 0 ? showAll() : setVerb("approve"))}
            >
              {folded > 0 ? "Show all first" : `Approve ${chosen.length}`}
            </Button>
            <Button
              icon={<X size={16} strokeWidth={1.5} aria-hidden />}
              disabled={chosen.length === 0 || chosen.some((g) => !g.may.includes("reject"))}
              onClick={() => setVerb("reject")}
            >
              Reject {chosen.length}
            </Button>
          </div>
        )}
      </footer>
    </article>
  );
}

function RowOutcome({ id }: { id: string }) {
  const outcome = useOutcome(id);
  if (!outcome) return null;
  if (outcome.step === "sending") return <span className={css.quiet}>sending</span>;
  if (outcome.step === "refused")
    return (
      <span className={css.bad}>
        <Said>{outcome.error instanceof Error ? outcome.error.message : String(outcome.error)}</Said>
      </span>
    );
  return <Chip state={outcome.state === "done" ? "decided" : outcome.state} />;
}
