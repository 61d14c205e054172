import type { ReactNode } from "react";
import { bytes, type Checkpoint, useCheckpoint, useDiff, useHeader, useSavedBefore } from "../data/checkpoints";
import type { Schemas } from "../api/client";
import { Differing } from "../parts/difference";
import { Skeleton } from "../parts/notice";
import { Hidden, Said } from "../parts/said";
import { Same } from "../parts/same";
import { WhyUnread } from "../parts/unread";
import { diff, type Diff } from "../text/diff";
import { onRecord, texts, type Node } from "../text/json";
import { Edits } from "./edits";
import { Raw } from "./raw";
import type { PaneProps } from "./inspector";
import css from "./inspector.module.css";

/** A larger state is not read for the sake of the parts that did not change. */
const maxRead = 256 * 1024;

/** Change shows what a checkpoint changed in the state of the one before it. */
export function Change({ thread, at, go }: PaneProps) {
  const parent = useHeader(at.parentId);
  const before = useSavedBefore(at);
  if (!at.parentId) return before.data ? <Saved at={at} before={before.data} go={go} /> : <First at={at} of={thread} />;
  return (
    <>
      <Edits gates={[...(parent.data?.gates ?? []), ...(at.gates ?? [])]} />
      <h2 className={css.title}>
        {parent.data ? (
          <>
            From{" "}
            <button type="button" className={css.link} onClick={() => go({ at: at.parentId })}>
              {parent.data.branch !== at.branch && `${parent.data.branch} `}#{parent.data.seq}
            </button>{" "}
            to #{at.seq}
          </>
        ) : (
          <>To #{at.seq}</>
        )}
      </h2>
      {parent.error && <WhyUnread error={parent.error} />}
      {!parent.error && <Comparison a={at.parentId} b={at} />}
    </>
  );
}

/** Saved compares a state that was saved by hand, and has no parent, with the one that was saved before it. */
function Saved({ at, before, go }: { at: Checkpoint; before: Checkpoint; go: PaneProps["go"] }) {
  return (
    <>
      <h2 className={css.title}>
        #{at.seq} was saved by itself. Before it on <Said>{at.branch}</Said> stands{" "}
        <button type="button" className={css.link} onClick={() => go({ at: before.id })}>
          #{before.seq}
        </button>
      </h2>
      <Comparison a={before.id} b={at} />
    </>
  );
}

/** First shows the state that a thread began with, or that was saved by itself. */
function First({ at, of }: { at: Checkpoint; of: PaneProps["thread"] }) {
  const state = useCheckpoint(at.id, at.size <= maxRead);
  const node = onRecord(state.data?.state);
  return (
    <>
      <h2 className={css.title}>
        #{at.seq} {at.seq === of.first ? "is the first of its thread" : "has no parent"}{" "}
        <span>{bytes(at.size)} of state</span>
      </h2>
      {state.error && <WhyUnread error={state.error} />}
      {node?.kind === "object" &&
        node.members.map((m, i) => (
          <Line key={i} name={m.name}>
            <Same node={m.value} />
          </Line>
        ))}
      {node && node.kind !== "object" && (
        <Line name="state">
          <Same node={node} />
        </Line>
      )}
    </>
  );
}

type Side = Pick<Checkpoint, "id" | "size">;
type Entry = { name: string; value: ReactNode; changed: boolean };

/** Comparison lists the parts of the state of b, those that differ from a marked with both sides. */
export function Comparison({ a, b }: { a: string; b: Side }) {
  const found = useDiff(a, b.id);
  const state = useCheckpoint(b.id, b.size <= maxRead);
  if (found.error) return <WhyUnread error={found.error} />;
  if (!found.data || (state.isPending && b.size <= maxRead)) return <Skeleton rows={6} height={28} />;
  const node = onRecord(state.data?.state);
  const opaque = found.data.parts.some((p) => p.name === "state") || state.data?.parts?.[0]?.name === "state";
  const entries = opaque ? ofValue(found.data.parts, node) : ofParts(found.data.parts, node);
  const changed = entries.filter((e) => e.changed).length;
  const hidden = found.data.parts.flatMap((p) => [...texts(onRecord(p.a?.value)), ...texts(onRecord(p.b?.value))]);
  return (
    <>
      <p className={css.count} role="status">
        {changed === 0 ? "The state is the same" : `${changed} of ${entries.length} parts changed`}
      </p>
      <Hidden texts={hidden} />
      {state.error && <WhyUnread error={state.error} safe="What changed is shown all the same." />}
      <div className={css.lines} role="list" aria-label="parts of the state">
        {entries.map((e, i) => (
          <Line key={i} name={e.name} changed={e.changed}>
            {e.value}
          </Line>
        ))}
      </div>
    </>
  );
}

/** ofValue lists the members of a state that is one value. */
function ofValue(parts: Schemas["PartChange"][], node: Node | undefined): Entry[] {
  const part = parts.find((p) => p.name === "state");
  const others = parts.filter((p) => p !== part).map(entryOf);
  const whole = part ? differing(part) : undefined;
  if (whole?.kind === "object") {
    return [
      ...whole.members.map((m) => ({
        name: m.name,
        value: <Differing diff={m.diff} />,
        changed: m.diff.kind !== "same",
      })),
      ...others,
    ];
  }
  if (part) return [entryOf(part), ...others];
  return [
    ...(node?.kind === "object" ? node.members.map(same) : node ? [same({ name: "state", value: node })] : []),
    ...others,
  ];
}

/** ofParts lists the parts of a state in their order, and then those that are gone. */
function ofParts(parts: Schemas["PartChange"][], node: Node | undefined): Entry[] {
  const by = new Map(parts.map((p) => [p.name, p]));
  const all: Entry[] = [];
  for (const m of node?.kind === "object" ? node.members : []) {
    const part = by.get(m.name);
    by.delete(m.name);
    all.push(part ? entryOf(part) : same(m));
  }
  return [...all, ...Array.from(by.values(), entryOf)];
}

const same = (m: { name: string; value: Node }): Entry => ({
  name: m.name,
  value: <Same node={m.value} />,
  changed: false,
});

const entryOf = (part: Schemas["PartChange"]): Entry => ({
  name: part.name === "$meta" ? "metadata" : part.name,
  value: <Part part={part} />,
  changed: true,
});

/** differing compares the two sides of a part, if both are given. */
function differing(part: Schemas["PartChange"]): Diff | undefined {
  const [a, b] = [onRecord(part.a?.value), onRecord(part.b?.value)];
  return (part.a && !a) || (part.b && !b) ? undefined : diff(a, b);
}

/** Part shows a part that changed. One that is too large to show whole is shown by its differing places. */
function Part({ part }: { part: Schemas["PartChange"] }) {
  const d = differing(part);
  const bytesOf = (side: "was" | "is", s: Schemas["PartSide"] | undefined) =>
    s && s.codec !== "json" && <Raw side={side} part={s} />;
  if (d && d.kind !== "same")
    return (
      <>
        {bytesOf("was", part.a)}
        {bytesOf("is", part.b)}
        <Differing diff={d} />
      </>
    );
  if (d) return <>the same value, written in another way</>;
  const paths = part.paths ?? [];
  return (
    <div>
      {part.a && <Raw side="was" part={part.a} />}
      {part.b && <Raw side="is" part={part.b} />}
      {paths.map((p) => (
        <div key={p.path} className={css.path}>
          <code>
            <Said>{p.path || "/"}</Said>
          </code>
          <Differing diff={diff(onRecord(p.a), onRecord(p.b))} />
        </div>
      ))}
      {part.more ? <p className={css.quiet}>and {part.more.toLocaleString("en")} more</p> : null}
    </div>
  );
}

/** Line is a part of the state with its value. What changed has a bar at its side. */
export const Line = ({ name, changed, children }: { name: string; changed?: boolean; children: ReactNode }) => (
  <div className={changed ? `${css.line} ${css.changed}` : css.line} role="listitem">
    <span className={css.name}>
      <Said>{name}</Said>
    </span>
    <div className={css.value}>{children}</div>
  </div>
);
