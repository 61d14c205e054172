import { usePrograms } from "../data/threads";
import { Said } from "../parts/said";
import { unserved, type Graphs } from "./served";

/** Unserved says before threads are resumed which of them no program here goes on with. */
export function Unserved({ threads, graphs }: { threads: string[]; graphs: Graphs }) {
  const served = usePrograms();
  const lacking = served.data ? unserved(threads, graphs, served.data) : [];
  if (lacking.length === 0) return null;
  return (
    <div role="status">
      {lacking.slice(0, 10).map(({ program, count }) => (
        <p key={program}>
          <b>
            <Said>{program}</Said>
          </b>{" "}
          is not served here: {count.toLocaleString("en")} of these threads cannot go on at this server.
        </p>
      ))}
      {lacking.length > 10 && <p>{lacking.length - 10} other programs are not served here either.</p>}
    </div>
  );
}
