import { RotateCcw } from "lucide-react";
import { useState } from "react";
import { api, get, type Gate } from "../api/client";
import { queries } from "../data/query";
import { useThread } from "../data/thread";
import { Button } from "../parts/button";
import { Failure } from "../parts/notice";
import { Hidden, Said } from "../parts/said";
import { replacedBy } from "./decide";
import { useNewer } from "./neighbours";
import css from "./actions.module.css";

/** AskAgain asks a question once more that nobody answered in time, or that was withdrawn. */
export function AskAgain({ gate, go }: { gate: Gate; go: (id: string) => void }) {
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const [reason, setReason] = useState("");
  const again = async () => {
    setBusy(true);
    try {
      const why = reason.trim();
      const asked = await get(
        api.POST("/api/gates/{id}/ask-again", {
          params: { path: { id: gate.id } },
          body: why === "" ? {} : { reason: why },
        }),
      );
      await queries.invalidateQueries({ queryKey: ["live"] });
      go(asked.id);
    } catch (e) {
      setError(e);
      setBusy(false);
    }
  };
  const thread = useThread(gate.thread);
  const branch = thread.data?.branches?.find((b) => b.branch === gate.branch);
  const forks = branch !== undefined && branch.head !== gate.checkpoint;
  const ended = ["done", "failed", "cancelled"].find((s) => s === branch?.status);
  const newer = useNewer(gate);
  const next = replacedBy(error) ?? newer;
  const votes = (gate.votes ?? []).length;
  return (
    <footer className={css.bar}>
      <div className={css.in}>
        {error !== undefined && (
          <div className={css.refused}>
            <Failure error={error} safe="Nothing was asked." />
          </div>
        )}
        <form
          className={css.again}
          onSubmit={(e) => {
            e.preventDefault();
            if (!busy && !next) void again();
          }}
        >
          {next ? (
            <Button onClick={() => go(next)}>Show the question that is asked in its place</Button>
          ) : (
            <>
              <input
                className={css.reason}
                aria-label="reason"
                placeholder="reason, on record and for who is asked"
                maxLength={1000}
                autoComplete="off"
                value={reason}
                onChange={(e) => setReason(e.target.value)}
              />
              <Button type="submit" icon={<RotateCcw size={16} strokeWidth={1.5} aria-hidden />} disabled={busy}>
                {forks ? "Ask again on a fork" : "Ask again"}
              </Button>
              <span className={css.barred}>
                {votes > 0 ? `Its ${votes === 1 ? "vote" : `${votes} votes`} decided nothing.` : "Nobody answered."}{" "}
                {forks && (
                  <>
                    <Said>{gate.branch}</Said>{" "}
                    {ended === "cancelled" ? "was cancelled" : `went on since${ended ? ` and is ${ended}` : ""}`}: this
                    makes a fork of it, which waits with the same question.{" "}
                  </>
                )}
                It is put once more, in the name of who asked it, with as much time as it had.
              </span>
              <Hidden texts={[reason]} />
            </>
          )}
        </form>
      </div>
    </footer>
  );
}
