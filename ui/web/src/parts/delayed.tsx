import { Undo2 } from "lucide-react";
import { useCallback, useEffect, useRef, useState } from "react";
import { Button } from "./button";
import { Failure } from "./notice";
import { Said } from "./said";
import css from "./delayed.module.css";

/** patience is how long something can be taken back, in milliseconds. */
const patience = 5000;

type Step = "waits" | "sending" | "done" | "refused";

export type Act = {
  key: string;
  /** what says what will be done, as in "Retry transcribe". */
  what: string;
  /** of says to which: a name that a program or a person gave. */
  of?: string;
  step: Step;
  due: number;
  error?: unknown;
  /** from had the focus when it was asked for. */
  from?: HTMLElement;
};

export type Delayed = {
  all: Act[];
  /** begin sends something after a while, until then it can be taken back. */
  begin: (act: { key: string; what: string; of?: string; send: () => Promise<unknown> }) => void;
  takeBack: (key: string) => void;
  /** busy says whether something is under way for a key. */
  busy: (key: string) => boolean;
};

/**
 * useDelayed sends what people asked for after five seconds. What waits survives nothing: it is of the
 * screen that called this, and leaving the screen, or closing the page, sends nothing.
 */
export function useDelayed(): Delayed {
  const [all, setAll] = useState<Act[]>([]);
  const timers = useRef(new Map<string, ReturnType<typeof setTimeout>>());
  useEffect(() => {
    const waiting = timers.current;
    return () => waiting.forEach((t) => clearTimeout(t));
  }, []);
  const put = useCallback((key: string, change: Partial<Act>) => {
    setAll((was) => was.map((a) => (a.key === key ? { ...a, ...change } : a)));
  }, []);
  const begin: Delayed["begin"] = useCallback(
    ({ key, what, of, send }) => {
      if (timers.current.has(key)) return;
      setAll((was) => [
        ...was.filter((a) => a.key !== key),
        { key, what, of, step: "waits", due: performance.now() + patience, ...focused() },
      ]);
      const timer = setTimeout(async () => {
        put(key, { step: "sending" });
        try {
          await send();
          put(key, { step: "done" });
        } catch (error) {
          put(key, { step: "refused", error });
        } finally {
          timers.current.delete(key);
        }
      }, patience);
      timers.current.set(key, timer);
    },
    [put],
  );
  const takeBack = useCallback((key: string) => {
    clearTimeout(timers.current.get(key));
    timers.current.delete(key);
    setAll((was) => was.filter((a) => a.key !== key));
  }, []);
  const busy = (key: string) => all.some((a) => a.key === key && (a.step === "waits" || a.step === "sending"));
  return { all, begin, takeBack, busy };
}

const focused = () =>
  document.activeElement instanceof HTMLElement && document.activeElement !== document.body
    ? { from: document.activeElement }
    : {};

/** DelayedActs lists what waits to be sent, and what became of it. It stands at the foot of a screen. */
export function DelayedActs({ delayed }: { delayed: Delayed }) {
  const waits = delayed.all.some((a) => a.step === "waits");
  // It is there before there is anything to say: a reader of the screen hears only what changes.
  return (
    <footer className={delayed.all.length > 0 ? css.bar : undefined}>
      <div role="status">
        {delayed.all.length > 0 && (
          <ul aria-label="what is sent">
            {delayed.all.map((a) => (
              <li key={a.key}>
                <span className={css.what}>
                  <strong>{a.what}</strong> <Said>{a.of}</Said>
                </span>
                <State act={a} delayed={delayed} />
              </li>
            ))}
          </ul>
        )}
        {waits && <p className={css.note}>Until then it can be taken back. Leaving this page sends nothing.</p>}
      </div>
    </footer>
  );
}

function State({ act, delayed }: { act: Act; delayed: Delayed }) {
  const close = (
    <Button tone="quiet" onClick={() => delayed.takeBack(act.key)} aria-label={`close: ${act.what}`}>
      Close
    </Button>
  );
  switch (act.step) {
    case "waits":
      return (
        <>
          <Countdown due={act.due} />
          <TakeBack act={act} delayed={delayed} />
        </>
      );
    case "sending":
      return <span className={css.quiet}>sending</span>;
    case "done":
      return (
        <>
          <span className={css.done}>done</span>
          {close}
        </>
      );
    case "refused":
      return (
        <div className={css.refused}>
          <Failure error={act.error} />
          {close}
        </div>
      );
  }
}

/** TakeBack has the focus while it can be pressed, and leaves it where it was. */
function TakeBack({ act, delayed }: { act: Act; delayed: Delayed }) {
  const button = useRef<HTMLButtonElement>(null);
  const [from] = useState(() => act.from);
  useEffect(() => {
    if (from) button.current?.focus();
  }, [from]);
  return (
    <Button
      ref={button}
      icon={<Undo2 size={14} strokeWidth={1.5} aria-hidden />}
      onClick={() => {
        delayed.takeBack(act.key);
        requestAnimationFrame(() => from?.focus()); // by then it is enabled again
      }}
    >
      Take back
    </Button>
  );
}

function Countdown({ due }: { due: number }) {
  const [now, setNow] = useState(performance.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(performance.now()), 250);
    return () => clearInterval(timer);
  }, []);
  const left = Math.max(0, Math.ceil((due - now) / 1000));
  return (
    <span className={css.quiet} aria-hidden>
      sent in {left} s
    </span>
  );
}
