import { Clock } from "lucide-react";
import { useEffect, useState } from "react";
import { now } from "../api/clock";
import { announce } from "../parts/announce";
import { exact } from "../parts/time";
import css from "./actions.module.css";

const minute = 60_000;

type Props = { at: string; link?: boolean };

/** Last counts down the last minute of a deadline, or of a link, beside a decision that is not sent. It is announced once. */
export function Last({ at, link }: Props) {
  const [left, setLeft] = useState(() => Date.parse(at) - now());
  useEffect(() => {
    const timer = setInterval(() => setLeft(Date.parse(at) - now()), 500);
    return () => clearInterval(timer);
  }, [at]);
  const last = left < minute;
  useEffect(() => {
    if (last && left > 0) announce("Less than a minute is left to decide this. What you typed is kept.");
  }, [last]);
  if (!last) return null;
  return (
    <p className={`${css.risk} ${css.soon}`} role="note" title={exact(at)}>
      <Clock size={14} strokeWidth={1.5} aria-hidden />
      {left > 0
        ? `${Math.ceil(left / 1000)} s left: after that ${link ? "this link decides nothing" : "it expires"}.`
        : link
          ? "This link has ended. Ask whoever sent it for another."
          : "Its deadline has passed."}
    </p>
  );
}
