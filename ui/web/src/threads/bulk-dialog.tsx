import { Archive, Ban, Play } from "lucide-react";
import { useEffect, useMemo, useRef, useState, type ReactNode } from "react";
import { queries } from "../data/query";
import { tooLong } from "../gate/reason";
import { Button } from "../parts/button";
import { Dialog } from "../parts/dialog";
import { Failure } from "../parts/notice";
import { Hidden } from "../parts/said";
import { run, type Item, type Progress, type Verb } from "./bulk";
import { Refusals } from "./refusals";
import { asksNumber, type Graphs } from "./served";
import { Unserved } from "./unserved";
import css from "./bulk-dialog.module.css";

const icon = { size: 16, strokeWidth: 1.5, "aria-hidden": true } as const;

export const verbs: { verb: Verb; name: string; done: string; icon: ReactNode; says: string; for: string }[] = [
  {
    verb: "resume",
    name: "Resume",
    done: "resumed",
    icon: <Play {...icon} />,
    says: "Branches that are interrupted or failed go on from where they are. A failed step is tried again.",
    for: "have a branch that is interrupted or failed",
  },
  {
    verb: "cancel",
    name: "Cancel",
    done: "cancelled",
    icon: <Ban {...icon} />,
    says: "Branches that have not ended end, and their open questions are withdrawn. This cannot be taken back.",
    for: "have a branch that has not ended",
  },
  {
    verb: "release",
    name: "Release",
    done: "released",
    icon: <Archive {...icon} />,
    says: "Each becomes a version that stays readable, its open questions are withdrawn, and its name is free for a new start. This cannot be taken back.",
    for: "can be released",
  },
];

const count = (n: number) => `${n.toLocaleString("en")} thread${n === 1 ? "" : "s"}`;
const acted = (items: Item[]) => items.filter((i) => !i.problem && i.branches.length > 0);
const refused = (items: Item[]) => items.filter((i) => i.problem);

type Props = { verb: Verb; threads: string[]; graphs: Graphs; close: () => void; keep: (threads: string[]) => void };

/** BulkDialog says what would be done to the chosen threads, does it once that is confirmed, and lists what failed. */
export function BulkDialog({ verb, threads: chosen, graphs, close, keep }: Props) {
  const [threads] = useState(chosen); // as they were when it was opened
  const way = verbs.find((v) => v.verb === verb) as (typeof verbs)[number];
  const [plan, setPlan] = useState<Progress>();
  const [work, setWork] = useState<Progress>();
  const [reason, setReason] = useState("");
  const stop = useRef(new AbortController());
  useEffect(() => {
    const end = new AbortController();
    void run(verb, threads, "", true, setPlan, end.signal);
    return () => end.abort();
  }, [verb, threads]);
  const todo = useMemo(() => acted(plan?.items ?? []).map((i) => i.thread), [plan]);
  const begin = async () => {
    stop.current = new AbortController();
    await run(verb, todo, reason, false, setWork, stop.current.signal);
    await queries.invalidateQueries({
      predicate: (q) => q.queryKey[0] === "live" || q.queryKey[0] === "thread counts",
    });
  };
  const leave = () => {
    if (work && !work.ended) stop.current.abort(); // what is done stays done
    if (work) keep(refused(work.items).map((i) => i.thread));
    close();
  };
  return (
    <Dialog open close={leave} title={`${way.name} threads`} hold={work !== undefined && !work.ended}>
      <div className={css.dialog}>
        <h2>
          {way.name} {count(work?.of ?? (plan?.ended ? todo.length : threads.length))}
        </h2>
        {!work && <p>{way.says}</p>}
        {!work && <Plan plan={plan} way={way} />}
        {!work && plan?.ended && !plan.error && verb === "resume" && <Unserved threads={todo} graphs={graphs} />}
        {!work && plan?.ended && !plan.error && (
          <Confirm way={way} count={todo.length} reason={reason} setReason={setReason} begin={begin} back={close} />
        )}
        {work && <Work work={work} way={way} stop={() => stop.current.abort()} stopped={stop.current.signal.aborted} />}
        {work?.ended && (
          <p className={css.line}>
            <Button onClick={leave}>
              {refused(work.items).length > 0 ? "Close, and keep those chosen that failed" : "Close"}
            </Button>
          </p>
        )}
      </div>
    </Dialog>
  );
}

type Way = (typeof verbs)[number];

function Plan({ plan, way }: { plan: Progress | undefined; way: Way }) {
  if (plan?.error) return <Failure error={plan.error} safe="Nothing was done." />;
  if (!plan?.ended)
    return (
      <p role="status" className={css.quiet}>
        Looking at {plan?.done ?? 0} of {plan?.of ?? 0}
      </p>
    );
  const none = plan.items.filter((i) => !i.problem && i.branches.length === 0).length;
  return (
    <>
      <p className={css.quiet}>
        {acted(plan.items).length.toLocaleString("en")} of {count(plan.of)} {way.for}
        {none > 0 && `; with ${none.toLocaleString("en")} there is nothing to do`}.
      </p>
      <Refusals items={refused(plan.items)} title="These will be left as they are" />
    </>
  );
}

type ConfirmProps = {
  way: Way;
  count: number;
  reason: string;
  setReason: (text: string) => void;
  begin: () => Promise<void>;
  back: () => void;
};

/** Confirm takes a reason for what cannot be taken back, and for that and for many threads their number. */
function Confirm({ way, count: n, reason, setReason, begin, back }: ConfirmProps) {
  const [typed, setTyped] = useState("");
  const final = way.verb !== "resume";
  const number = asksNumber(way.verb, n);
  const long = tooLong(reason);
  const ready = n > 0 && !long && (!number || typed.trim() === String(n));
  if (n === 0) return <Button onClick={back}>Close</Button>;
  return (
    <form
      onSubmit={(e) => {
        e.preventDefault();
        if (ready) void begin();
      }}
    >
      {final && (
        <>
          <label className={css.field}>
            <span>Reason, on record with each</span>
            <input autoFocus value={reason} onChange={(e) => setReason(e.target.value)} />
          </label>
          <Hidden texts={[reason]} />
          {long && <p role="alert">{long}</p>}
        </>
      )}
      {number && (
        <label className={css.field}>
          <span>
            Type <code>{n}</code>, the number of threads, to confirm
          </span>
          <input
            autoFocus={!final}
            inputMode="numeric"
            autoComplete="off"
            value={typed}
            onChange={(e) => setTyped(e.target.value)}
          />
        </label>
      )}
      <p className={css.line}>
        <Button type="submit" autoFocus={!number} tone={final ? "danger" : "plain"} icon={way.icon} disabled={!ready}>
          {way.name} {count(n)}
        </Button>
        <Button onClick={back}>Back</Button>
      </p>
    </form>
  );
}

function Work({ work, way, stop, stopped }: { work: Progress; way: Way; stop: () => void; stopped: boolean }) {
  const failed = refused(work.items);
  const done = acted(work.items).length;
  return (
    <>
      <progress className={css.progress} max={work.of} value={work.done} aria-label="progress" />
      <p role="status">
        {work.ended ? (
          <>
            {count(done)} {way.done}
            {failed.length > 0 && `, ${failed.length.toLocaleString("en")} failed`}
            {work.done < work.of && `, ${work.of - work.done} not looked at`}.
          </>
        ) : (
          `${work.done.toLocaleString("en")} of ${work.of.toLocaleString("en")}`
        )}
      </p>
      {work.error !== undefined && (
        <Failure error={work.error} safe="What was acknowledged is done, and the rest may not be: look at the list." />
      )}
      {!work.ended && (
        <Button onClick={stop} disabled={stopped}>
          Stop
        </Button>
      )}
      <Refusals items={failed} title="Failed" />
    </>
  );
}
