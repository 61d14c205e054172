import { usePrograms } from "../data/threads";
import { useThread } from "../data/thread";
import { Said } from "../parts/said";
import { missing } from "./missing";
import css from "./unserved.module.css";

/** Unserved says that no program of this server goes on with a thread: a decision is taken, and nothing follows. */
export function Unserved({ thread }: { thread: string }) {
  const programs = usePrograms();
  const { data } = useThread(thread);
  const name = data && programs.data && missing(data, programs.data);
  if (!name) return null;
  return (
    <p className={css.unserved}>
      This server does not run{" "}
      <strong>
        <Said>{name}</Said>
      </strong>
      . What is decided is on record at once; what follows waits for a process that runs it.
    </p>
  );
}
