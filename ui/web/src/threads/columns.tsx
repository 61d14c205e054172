import type { ReactNode } from "react";
import type { Thread } from "../data/threads";
import { Chip } from "../parts/chip";
import { Said } from "../parts/said";
import { Ago, exact, left, useNow } from "../parts/time";
import { standing } from "./filter";

export type Column = {
  key: string;
  name: string;
  /** width is a track of a CSS grid. */
  width: string;
  end?: boolean;
  cell: (t: Thread) => ReactNode;
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

/** Status says the state of a thread, and of its effects where the outcome of one is not known. */
export const Status = ({ of: t }: { of: Thread }) => (
  <>
    {standing(t) && <Chip state={standing(t)} />}
    {!!t.unknownEffects && (
      <Chip state="unknown" also={`${t.unknownEffects} effect${t.unknownEffects > 1 ? "s" : ""}`} />
    )}
  </>
);

/** columns are those that people choose from. The name is always there. */
export const columns: Column[] = [
  { key: "program", name: "Program", width: "minmax(84px, 132px)", cell: (t) => <Said>{t.graph}</Said> },
  { key: "status", name: "Status", width: "minmax(112px, 236px)", cell: (t) => <Status of={t} /> },
  { key: "now", name: "Now", width: "minmax(120px, 3fr)", cell: (t) => <Said>{t.now}</Said> },
  { key: "labels", name: "Labels", width: "minmax(100px, 1.4fr)", cell: (t) => <Labels of={t.labels} /> },
  {
    key: "coordination",
    name: "Coordination",
    width: "minmax(80px, 140px)",
    cell: (t) => <Said>{t.coordination === t.thread ? "" : t.coordination}</Said>,
  },
  { key: "checkpoints", name: "Checkpoints", width: "92px", end: true, cell: (t) => t.checkpoints },
  { key: "branches", name: "Branches", width: "72px", end: true, cell: (t) => t.branches?.length ?? 0 },
  { key: "due", name: "Deadline", width: "92px", end: true, cell: (t) => <Due at={t.dueAt} /> },
  { key: "started", name: "Started", width: "96px", end: true, cell: (t) => <Ago at={t.createdAt} /> },
  { key: "activity", name: "Activity", width: "96px", end: true, cell: (t) => <Ago at={t.updatedAt} /> },
];

export const usual = ["program", "status", "now", "branches", "activity"];
