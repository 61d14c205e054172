import { useState } from "react";
import { marked } from "../text/hidden";
import type { Diff, Row } from "../text/diff";
import { stringOf, type Node } from "../text/json";
import { Fold } from "./fold";
import { Same } from "./same";
import { Texts } from "./texts";
import { Value } from "./value";
import css from "./difference.module.css";

const maxRows = 200;

/**
 * Differing shows where two values differ, both sides as they are on record. Members stand in their
 * order; of lists only the rows that differ are shown, with counts of what is equal between them.
 */
export function Differing({ diff }: { diff: Diff }) {
  switch (diff.kind) {
    case "same":
      return <Same node={diff.node} />;
    case "added":
      return (
        <ins className={css.ins}>
          <Value node={diff.node} />
        </ins>
      );
    case "removed":
      return (
        <del className={css.del}>
          <Value node={diff.node} />
        </del>
      );
    case "changed":
      return <Changed a={diff.a} b={diff.b} />;
    case "object":
      return (
        <dl className={css.object}>
          {diff.members.map((m, i) => (
            <div key={i} className={css.member}>
              <dt>
                <bdi>{marked(m.name)}</bdi>
              </dt>
              <dd>
                <Differing diff={m.diff} />
              </dd>
            </div>
          ))}
        </dl>
      );
    case "array":
      return <List diff={diff} />;
  }
}

function Changed({ a, b }: { a: Node; b: Node }) {
  const [was, is] = [stringOf(a), stringOf(b)];
  if (was !== undefined && is !== undefined && a.kind === "text" && b.kind === "text") {
    return <Texts a={was} b={is} sources={[a.source, b.source]} />;
  }
  const leaves = a.kind === "text" && b.kind === "text";
  return (
    <span className={leaves ? css.beside : css.below}>
      <del className={css.del}>
        <Value node={a} />
      </del>
      <ins className={css.ins}>
        <Value node={b} />
      </ins>
    </span>
  );
}

function List({ diff }: { diff: Diff & { kind: "array" } }) {
  const rows = diff.rows;
  const show = (some: Row[]) => (
    <ol className={css.list}>
      {some.map((r, i) => (
        <li key={i}>{r.kind === "equal" ? <Equal row={r} /> : <Item at={r.at} diff={r.diff} />}</li>
      ))}
    </ol>
  );
  return (
    <>
      <span className={css.count}>
        {diff.was === diff.is ? `${diff.is} items` : `${diff.was} items, now ${diff.is}`}
      </span>
      {rows.length <= maxRows ? (
        show(rows)
      ) : (
        <Fold
          first={show(rows.slice(0, maxRows))}
          rest={() => show(rows)}
          size={`${rows.length.toLocaleString("en")} rows that differ`}
        />
      )}
    </>
  );
}

const Item = ({ at, diff }: { at: number; diff: Diff }) => (
  <span className={css.item}>
    <span className={css.at}>{at}</span>
    <Differing diff={diff} />
  </span>
);

/** Equal counts the items between those that differ, and shows them after a click. */
function Equal({ row }: { row: Row & { kind: "equal" } }) {
  const [open, setOpen] = useState(false);
  if (open) {
    return (
      <ol className={css.list}>
        {row.items.slice(0, maxRows).map((n, i) => (
          <li key={i}>
            <Item at={row.from + i} diff={{ kind: "same", node: n }} />
          </li>
        ))}
        {row.items.length > maxRows && <li>and {(row.items.length - maxRows).toLocaleString("en")} more</li>}
      </ol>
    );
  }
  return (
    <button type="button" className={css.equal} onClick={() => setOpen(true)}>
      {row.items.length.toLocaleString("en")} equal
    </button>
  );
}
