import { useEffect } from "react";
import type { Schemas } from "../api/client";
import { useNumbered } from "../data/thread";
import { Failure, Skeleton } from "../parts/notice";
import { Missing } from "../shell/missing";
import { entryOf, threadPath, useWhere } from "./address";

type Thread = Pick<Schemas["Thread"], "thread" | "tail">;

/** Numbered goes on to the checkpoint with the number that an address gives in the place of an id, or says that there is none. */
export function Numbered({ thread }: { thread: Thread }) {
  const [where, go] = useWhere();
  const which = entryOf(where.at) === undefined ? "with" : "at";
  const seq = entryOf(where[which]);
  const { data, error } = useNumbered(thread.thread, seq);
  const id = data?.id;
  useEffect(() => {
    if (id) go({ [which]: id });
  }, [id, which, go]);
  if (error && !data) return <Failure error={error} safe="What is on record stays there." />;
  if (!data || id || seq === undefined) return <Skeleton rows={14} height={32} />;
  const { version } = where;
  return (
    <Missing
      what="checkpoint"
      name={`#${seq}`}
      search={thread.thread}
      ways={[{ name: "The thread", href: threadPath(thread.thread, version ? { version } : {}) }]}
    >
      {data.there
        ? `Entry #${seq} of this thread's log has none.`
        : seq > thread.tail.seq
          ? `The log of this thread ends at #${thread.tail.seq}.`
          : `The log of this thread has no entry #${seq}.`}
    </Missing>
  );
}
