import { useEffect } from "react";
import { useHeader } from "../data/checkpoints";
import type { useRows, useThread } from "../data/thread";
import { entryOf, useWhere } from "./address";

/**
 * useOwnVersion goes on to the version that a checkpoint is of, where an address names one that the thread
 * of now has not: links to questions and checkpoints lead there also after a release.
 */
export function useOwnVersion(
  name: string,
  thread: ReturnType<typeof useThread>,
  { rows, complete }: Pick<ReturnType<typeof useRows>, "rows" | "complete">,
) {
  const [where, go] = useWhere();
  const { at, version } = where;
  const lost =
    version === undefined &&
    at !== undefined &&
    entryOf(at) === undefined &&
    (thread.isError || (complete && !rows.some((r) => r.id === at)));
  const header = useHeader(lost ? at : undefined).data;
  const generation = thread.data?.generation;
  useEffect(() => {
    if (lost && header && header.thread === name && header.id === at && header.generation !== generation)
      go({ version: String(header.generation), branch: header.branch });
  }, [lost, header, name, at, generation, go]);
}
