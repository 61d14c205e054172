import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { api, get, type Schemas } from "../api/client";
import type { Checkpoint, Thread } from "../data/checkpoints";
import { useProgram } from "../data/programs";
import { nodesOf, ProgramGraph } from "../graph/graph";
import { inThread, type Where as Address } from "../thread/address";
import frame from "./inspector.module.css";
import css from "./step.module.css";

type Row = Schemas["Row"];

/** The lit nodes come from the newest rows of the branch's line; a longer way is cut there. */
const maxRows = 1000;

/** Where draws the graph of the program with the way that led to a checkpoint. */
export function Where({ thread, at, go }: { thread: Thread; at: Checkpoint; go: (to: Partial<Address>) => void }) {
  const program = useProgram(at.graph ?? "");
  const has = program.data?.graph !== undefined;
  const rows = useQuery({
    queryKey: ["live", "way", thread.thread, at.generation],
    enabled: has,
    queryFn: ({ signal }) =>
      get(
        api.GET("/api/threads/{id}/outline", {
          signal,
          params: inThread(thread.thread, { limit: maxRows, generation: at.generation }),
        }),
      ).then((l) => l.items),
  });
  const way = useMemo(() => wayTo(at, rows.data ?? []), [at, rows.data]);
  const lit = useMemo(() => litBy(at, way), [at, way]);
  if (!has) return null;
  const show = (node: string) => {
    const row = way.find((r) => nodesOf(r.node).includes(node));
    if (row) go({ at: row.id });
  };
  return (
    <>
      <h3 className={frame.title}>Where in the graph</h3>
      <div className={css.graph}>
        <ProgramGraph program={at.graph ?? ""} lit={lit} onNode={show} />
      </div>
    </>
  );
}

/** wayTo returns the rows that led to a checkpoint, the newest first. */
function wayTo(at: Checkpoint, rows: Row[]): Row[] {
  const by = new Map(rows.map((r) => [r.id, r]));
  const way: Row[] = [];
  for (let r = by.get(at.id); r; r = r.parent ? by.get(r.parent) : undefined) way.push(r);
  return way;
}

/** litBy gives each node on the way its state: done where it was passed, and at the end how the checkpoint is. */
function litBy(at: Checkpoint, way: Row[]): Map<string, string> {
  const lit = new Map<string, string>();
  for (const r of way.toReversed()) {
    for (const n of nodesOf(r.node))
      lit.set(n, r.status === "failed" ? "failed" : r.kind === "wait" ? "waiting" : "done");
  }
  const over = at.status === "done" || at.status === "failed" || at.status === "cancelled";
  if (!over) for (const n of at.next ?? []) lit.set(n, at.status ?? "running");
  return lit;
}
