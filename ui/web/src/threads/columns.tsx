import type { ReactNode } from "react";
import type { Thread } from "../data/threads";
import { Chip } from "../parts/chip";
import { Said } from "../parts/said";
import { Ago, At, exact, left, useNow } from "../parts/time";
import { marked } from "../text/hidden";
import { standing, type Filter } from "./filter";
import { othersOf } from "./branches";
import { dueOf } from "./due";

export type Column = {
  key: string;
  name: string;
  /** width is a track of a CSS grid. */
  width: string;
  end?: boolean;
  cell: (t: Thread, filter: Filter) => ReactNode;
};

const Labels = ({ of }: { of: Record<string, string> | undefined }) => (
  <Said>
    {Object.entries(of ?? {})
      .map(([name, value]) => `${name}=${value}`)
      .join("  ")}
  </Said>
);

function Due({ at }: { at: string | undefined }) {
  const now = useNow();
  return at ? (
    <time dateTime={at} title={exact(at)}>
      {left(at, now)}
    </time>
  ) : null;
}

/** Status says the state of a thread. */
export const Status = ({ of: t }: { of: Thread }) => (standing(t) ? <Chip state={standing(t)} /> : null);

/**
 * Now says what goes on in a thread, in a line. Before it stands what needs somebody though the status does not
 * say it: effects with an unknown outcome, and, where the list is of branches, branches that stand otherwise.
 */
export const Now = ({ of: t, filter }: { of: Thread; filter: Filter }) => {
  const { line, at } = dueOf(t.now);
  const others = filter.node || filter.version ? othersOf(t.status, t.branches, filter.status) : [];
  return (
    <>
      {!!t.unknownEffects && <Chip state="unknown" also={plural(t.unknownEffects, "effect")} />}
      {others.map((o) => (
        <Chip
          key={o.status}
          state={o.status}
          also={o.branches.length === 1 ? marked(o.branches[0] ?? "") : plural(o.branches.length, "branch", "branches")}
        />
      ))}
      <Said>{line}</Said>
      {at && (
        <>
          {" "}
          <At at={at} />
        </>
      )}
    </>
  );
};

const plural = (n: number, one: string, many = `${one}s`) => `${n} ${n === 1 ? one : many}`;

/** columns are those that people choose from. The name is always there. Widths do not depend on what is shown. */
export const columns: Column[] = [
  { key: "program", name: "Program", width: "minmax(72px, 128px)", cell: (t) => <Said>{t.graph}</Said> },
  { key: "status", name: "Status", width: "96px", cell: (t) => <Status of={t} /> },
  { key: "now", name: "Now", width: "minmax(200px, 3fr)", cell: (t, filter) => <Now of={t} filter={filter} /> },
  { key: "labels", name: "Labels", width: "minmax(100px, 1fr)", cell: (t) => <Labels of={t.labels} /> },
  {
    key: "coordination",
    name: "Coordination",
    width: "minmax(80px, 140px)",
    cell: (t) => <Said>{t.coordination === t.thread ? "" : t.coordination}</Said>,
  },
  { key: "checkpoints", name: "Checkpoints", width: "92px", end: true, cell: (t) => t.checkpoints },
  { key: "branches", name: "Branches", width: "72px", end: true, cell: (t) => t.branches?.length ?? 0 },
  { key: "due", name: "Deadline", width: "92px", end: true, cell: (t) => <Due at={t.dueAt} /> },
  { key: "started", name: "Started", width: "88px", end: true, cell: (t) => <Ago at={t.createdAt} /> },
  { key: "activity", name: "Activity", width: "88px", end: true, cell: (t) => <Ago at={t.updatedAt} /> },
];

export const usual = ["program", "status", "now", "activity"];
