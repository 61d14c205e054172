import type { Gate } from "../api/client";
import { Card } from "../parts/card";
import { Differing } from "../parts/difference";
import { Said } from "../parts/said";
import { diff } from "../text/diff";
import { onRecord, stringNode } from "../text/json";
import css from "./content.module.css";

/** Changes lists what differs deeper in the payload, and in the text, from the question that was asked before. */
export function Changes({ gate, title }: { gate: Gate; title?: string }) {
  const before = gate.before;
  const deep = (before?.paths ?? []).filter((c) => c.path.split("/").length > 2);
  const text = before?.changed && (before.text ?? "") !== (gate.text ?? "");
  if (!before || (deep.length === 0 && !text && !before.more)) return null;
  return (
    <Card title={title ?? "What changed since it was asked before"} label="what changed">
      <dl className={css.rows}>
        {text && (
          <div className={css.row}>
            <dt>text</dt>
            <dd>
              <Differing diff={diff(stringNode(before.text ?? ""), stringNode(gate.text ?? ""))} />
            </dd>
          </div>
        )}
        {deep.map((c) => (
          <div key={c.path} className={css.row}>
            <dt>
              <Said>{c.path.slice(1)}</Said>
            </dt>
            <dd>
              <Differing diff={diff(onRecord(c.a), onRecord(c.b))} />
            </dd>
          </div>
        ))}
      </dl>
      {before.more ? <p className={css.nothing}>and {before.more} more</p> : null}
    </Card>
  );
}
