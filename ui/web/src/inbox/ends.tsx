import type { Settled } from "../data/gates";
import { Pill } from "../parts/pill";
import { Said } from "../parts/said";
import css from "./screen.module.css";

const states: { state: Settled["state"]; name: string }[] = [
  { state: "decided", name: "Decided" },
  { state: "expired", name: "Expired" },
  { state: "withdrawn", name: "Withdrawn" },
];

/** Ends narrows what waits no more: by what became of it, and to what one decided oneself. */
export const Ends = ({ settled, address }: { settled: Settled; address: (s: Settled) => string }) => (
  <nav className={css.ends} aria-label="what became of them">
    {states.map(({ state, name }) => (
      <Pill
        key={state}
        href={address({ state, mine: state === "decided" && settled.mine })}
        on={settled.state === state}
      >
        {name}
      </Pill>
    ))}
    {settled.state === "decided" && (
      <Pill href={address({ ...settled, mine: !settled.mine })} on={settled.mine}>
        By me
      </Pill>
    )}
  </nav>
);

/** Only says that a list has one question alone, and leads to all. */
export const Only = ({ question, href }: { question: string; href: string }) => (
  <nav className={css.ends} aria-label="only one question">
    <Pill href={href} on>
      <Said>{question}</Said> <span aria-hidden>×</span>
      <span className="visually-hidden">, show all</span>
    </Pill>
  </nav>
);
