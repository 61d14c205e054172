import type { Settled } from "../data/gates";
import { Pill } from "../parts/pill";
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
