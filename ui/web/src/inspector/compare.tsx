import { ArrowLeftRight } from "lucide-react";
import { useDiff, useHeader, type Checkpoint, type Thread } from "../data/checkpoints";
import { useMemo } from "react";
import { Button } from "../parts/button";
import { Id } from "../parts/id";
import { WhyUnread } from "../parts/unread";
import { Said } from "../parts/said";
import { marked } from "../text/hidden";
import { Comparison } from "./change";
import { Edits } from "./edits";
import { editedOn, useRowsOf } from "./way";
import type { PaneProps } from "./inspector";
import css from "./compare.module.css";
import frame from "./inspector.module.css";

/** Compare shows how the checkpoint that is looked at differs from the one that was pinned. */
export function Compare({ thread, where, at, go }: PaneProps) {
  const pinned = useHeader(where.with);
  const a = pinned.data;
  return (
    <>
      <div className={css.sides}>
        <span className={css.side}>
          <span className={css.letter}>A</span>
          {a ? <Name of={a} /> : <span className={frame.quiet}>{where.with ? "…" : "nothing is pinned"}</span>}
        </span>
        <span className={css.side}>
          <span className={css.letter}>B</span>
          <Name of={at} />
        </span>
        {a && (
          <Button
            tone="quiet"
            aria-label="swap A and B"
            title="swap A and B"
            icon={<ArrowLeftRight size={14} strokeWidth={1.5} aria-hidden />}
            onClick={() => go({ at: a.id, with: at.id })}
          />
        )}
      </div>
      <Choices
        thread={thread}
        at={at}
        pinned={where.with}
        name={a && `#${a.seq}, ${marked(a.node || a.kind)}`}
        go={go}
      />
      {pinned.error && <WhyUnread error={pinned.error} />}
      {a && a.id === at.id && (
        <p className={frame.quiet}>A and B are one checkpoint. Choose another row: it becomes B.</p>
      )}
      {a && a.id !== at.id && (
        <>
          <Fields a={a.id} b={at.id} go={go} />
          <OnTheWay a={a} b={at} />
          <h3 className={frame.title}>State</h3>
          <Comparison a={a.id} b={at} />
        </>
      )}
    </>
  );
}

const Name = ({ of }: { of: Checkpoint }) => (
  <span className={css.name}>
    #{of.seq} <strong>{of.node ? <Said>{of.node}</Said> : of.kind}</strong>{" "}
    <span>
      on <Said>{of.branch}</Said>
    </span>
  </span>
);

/** Choices pin what is compared most: the parent, the row itself, and the heads of branches. */
function Choices({
  thread,
  at,
  pinned,
  name,
  go,
}: {
  thread: Thread;
  at: Checkpoint;
  pinned: string | undefined;
  /** What the one that is pinned is called. */
  name: string | undefined;
  go: PaneProps["go"];
}) {
  const heads = (thread.branches ?? []).filter((b) => b.head !== at.id);
  return (
    <p className={css.choices}>
      <label>
        pin as A{" "}
        <select
          value={pinned ?? ""}
          onChange={(e) => go({ with: e.target.value || undefined, tab: "compare" })}
          aria-label="pin as A"
        >
          <option value="">nothing</option>
          <option value={at.id}>#{at.seq}, this one</option>
          {at.parentId && <option value={at.parentId}>its parent</option>}
          {heads.slice(0, 200).map((b) => (
            <option key={b.branch} value={b.head}>
              head of {b.branch}, #{b.seq}
            </option>
          ))}
          {pinned && pinned !== at.id && pinned !== at.parentId && !heads.some((b) => b.head === pinned) && (
            <option value={pinned}>{name}</option>
          )}
        </select>
      </label>
    </p>
  );
}

/** OnTheWay shows the questions that were edited between two checkpoints, or since their lines parted. */
function OnTheWay({ a, b }: { a: Checkpoint; b: Checkpoint }) {
  const found = useDiff(a.id, b.id);
  const one = useRowsOf(a);
  const other = useRowsOf(b);
  const gates = useMemo(
    () => [
      ...editedOn(one.data ?? [], a.id, found.data?.ancestor),
      ...editedOn(other.data ?? [], b.id, found.data?.ancestor),
    ],
    [one.data, other.data, a.id, b.id, found.data],
  );
  if (!found.data || gates.length === 0) return null;
  return (
    <>
      <h3 className={frame.title}>Questions that were edited</h3>
      <Edits gates={gates} />
    </>
  );
}

/** Fields are what differs beside the state, and where the two lines parted. */
function Fields({ a, b, go }: { a: string; b: string; go: PaneProps["go"] }) {
  const found = useDiff(a, b);
  const ancestor = useHeader(found.data?.ancestor || undefined);
  if (!found.data) return null;
  const parted = found.data.ancestor;
  return (
    <>
      {parted && parted !== a && parted !== b && (
        <p className={frame.quiet}>
          Both come from{" "}
          {ancestor.data ? (
            <button type="button" className={frame.link} onClick={() => go({ at: parted })}>
              #{ancestor.data.seq} <Said>{ancestor.data.node ?? ancestor.data.kind}</Said>
            </button>
          ) : (
            <Id>{parted}</Id>
          )}
          .
        </p>
      )}
      {!parted && <p className={frame.quiet}>They have no common ancestor.</p>}
      {found.data.fields.length > 0 && (
        <>
          <h3 className={frame.title}>Beside the state</h3>
          <dl className={css.fields}>
            {found.data.fields.map((f) => (
              <div key={f.name}>
                <dt>{f.name}</dt>
                <dd>
                  {f.a && (
                    <del>
                      <Said>{f.a}</Said>
                    </del>
                  )}{" "}
                  {f.b && (
                    <ins>
                      <Said>{f.b}</Said>
                    </ins>
                  )}
                </dd>
              </div>
            ))}
          </dl>
        </>
      )}
    </>
  );
}
