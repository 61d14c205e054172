import { lazy, Suspense, useMemo } from "react";
import { useProgram } from "../data/programs";
import { Failure, Skeleton } from "../parts/notice";
import type { Counted, Outline } from "./layout";
import css from "./graph.module.css";

/** The library that draws is 80 KB, and few look at a graph first. */
const Canvas = lazy(async () => ({ default: (await import("./canvas")).Canvas }));

type Props = {
  program: string;
  /** The state of nodes, by their paths. */
  lit?: ReadonlyMap<string, string>;
  onNode?: (node: string) => void;
  /** How many threads are at nodes, and in which states. */
  counts?: ReadonlyMap<string, Counted>;
};

/** nodesOf returns the paths of the nodes that a checkpoint names: one, or those that ran beside each other. */
export const nodesOf = (node: string | undefined): string[] => (node ? node.split("+") : []);

/**
 * ProgramGraph draws the graph of a program, in the size of what it stands in. Nodes that a thread was
 * at are lit in the colour of their state, and have its icon.
 */
export function ProgramGraph({ program, lit, onNode, counts }: Props) {
  const found = useProgram(program);
  const text = found.data?.graph;
  const graph = useMemo(() => (typeof text === "string" ? (JSON.parse(text) as Outline) : undefined), [text]);
  if (found.error) return <Failure error={found.error} />;
  if (found.isPending) return <Skeleton rows={5} height={40} />;
  const { kind } = found.data;
  if (!graph) {
    return <p className={css.none}>A {kind} is a function: which way it goes is in its code, and on record.</p>;
  }
  return (
    <Suspense fallback={<Skeleton rows={5} height={40} />}>
      <Canvas name={program} graph={graph} lit={lit} onNode={onNode} counts={counts} />
    </Suspense>
  );
}
