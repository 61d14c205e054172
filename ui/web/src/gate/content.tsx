import { GitCompareArrows, Lock } from "lucide-react";
import { Link } from "wouter";
import type { Gate, Schemas } from "../api/client";
import { Card, Note } from "../parts/card";
import { Fold } from "../parts/fold";
import { Id } from "../parts/id";
import { Said } from "../parts/said";
import { Inline, Value } from "../parts/value";
import { onRecord, type Node } from "../text/json";
import { titleOf } from "./right";
import css from "./content.module.css";

const maxRows = 12;

type Change = Schemas["PathChange"];

/** pathOf returns the JSON pointer of a member. */
const pathOf = (name: string) => `/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;

/**
 * Approved is what a decision is about: a row a member of the payload, exactly as it is on record. Alone it leads
 * nowhere: who sees it may look at nothing else.
 */
export function Approved({ gate, decided, alone }: { gate: Gate; decided: boolean; alone?: boolean }) {
  const fields = gate.binding;
  const was = new Map((gate.before?.paths ?? []).map((c) => [c.path, c]));
  const rows = (some: typeof fields) => (
    <dl className={css.rows}>
      {some.map((f, i) => (
        <Row key={i} label={f.label} name={f.name} value={onRecord(f.value)} was={was.get(pathOf(f.name))} />
      ))}
    </dl>
  );
  return (
    <Card
      label="what is asked"
      title={titleOf(gate, decided)}
      icon={<Lock size={14} strokeWidth={1.5} aria-hidden />}
      also={
        <>
          <span className={css.count}>
            {fields.length} {fields.length === 1 ? "member" : "members"}, digest
          </span>
          <Id>{gate.hash}</Id>
        </>
      }
    >
      {fields.length === 0 && <p className={css.nothing}>This question has no payload: its text is all there is.</p>}
      {fields.length <= maxRows ? (
        rows(fields)
      ) : (
        <Fold first={rows(fields.slice(0, maxRows))} rest={() => rows(fields)} size={`${fields.length} members`} />
      )}
      {gate.before?.changed && (
        <Note icon={<GitCompareArrows size={14} strokeWidth={1.5} aria-hidden />}>
          What is asked changed since the question that this one replaces. An approval of that one does not count here.{" "}
          {!alone && <Link href={`/gates/${encodeURIComponent(gate.before.id)}`}>Look at it</Link>}
        </Note>
      )}
      {gate.before && !gate.before.changed && (
        <Note icon={<GitCompareArrows size={14} strokeWidth={1.5} aria-hidden />}>
          It is asked again in the place of an{" "}
          {alone ? "older question" : <Link href={`/gates/${encodeURIComponent(gate.before.id)}`}>older question</Link>}
          . What is asked is the same.
        </Note>
      )}
    </Card>
  );
}

function Row({
  label,
  name,
  value,
  was,
}: {
  label: string;
  name: string;
  value: Node | undefined;
  was: Change | undefined;
}) {
  const before = onRecord(was?.a);
  return (
    <div className={value?.kind === "text" ? css.row : `${css.row} ${css.nest}`}>
      <dt title={label !== name && name ? name : undefined}>
        <Said>{label || "value"}</Said>
      </dt>
      <dd className={was ? css.changed : undefined}>
        {value && <Value node={value} />}
        {before && (
          <del>
            <Inline node={before} />
          </del>
        )}
      </dd>
    </div>
  );
}
