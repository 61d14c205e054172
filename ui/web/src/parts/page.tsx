import type { ReactNode } from "react";
import css from "./page.module.css";

/** Scroll is the part of a screen that scrolls, below its bar. */
export const Scroll = ({ children }: { children: ReactNode }) => <div className={css.scroll}>{children}</div>;

/** Part is one list of a screen, with its name and a line on what it holds. */
export const Part = ({
  title,
  says,
  end,
  children,
}: {
  title: string;
  says?: ReactNode;
  end?: ReactNode;
  children: ReactNode;
}) => (
  <section className={css.part} aria-label={title}>
    <header className={css.head}>
      <h2>{title}</h2>
      {says && <p>{says}</p>}
      {end && <span className={css.end}>{end}</span>}
    </header>
    {children}
  </section>
);

/** Quiet is a line in the place of a list that has nothing. */
export const Quiet = ({ children }: { children: ReactNode }) => <p className={css.quiet}>{children}</p>;
