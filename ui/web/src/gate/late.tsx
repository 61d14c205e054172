import { useEffect, useRef } from "react";
import { Button } from "../parts/button";
import { Said } from "../parts/said";
import css from "./actions.module.css";

type Props = { name: string; over: boolean; sent: boolean; reason: string; close: () => void };

/** Late says that others decided while a decision was being written, or that its time was over. What was typed stays. */
export function Late({ name, over, sent, reason, close }: Props) {
  const end = useRef<HTMLButtonElement>(null);
  useEffect(() => end.current?.focus(), []);
  const why = over ? "its deadline passed" : "it was decided";
  return (
    <footer className={css.bar}>
      <div className={css.in} role="alert">
        <div className={css.line}>
          <Button ref={end} onClick={close}>
            Close
          </Button>
          <span className={css.barred}>
            {sent
              ? `“${name}” came too late: ${why} before.`
              : `${why.charAt(0).toUpperCase()}${why.slice(1)} while you wrote. “${name}” was not sent.`}
          </span>
        </div>
        {reason && (
          <p className={css.typed}>
            You had written: “<Said>{reason}</Said>”
          </p>
        )}
      </div>
    </footer>
  );
}
