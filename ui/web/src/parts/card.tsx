import type { ReactNode } from "react";
import css from "./card.module.css";

type Props = { title: ReactNode; icon?: ReactNode; also?: ReactNode; children: ReactNode; label?: string };

/** Card holds one thing under its name. */
export const Card = ({ title, icon, also, children, label }: Props) => (
  <section className={css.card} aria-label={label}>
    <header className={css.header}>
      {icon}
      <h2>{title}</h2>
      <span className={css.also}>{also}</span>
    </header>
    {children}
  </section>
);

/** Note is a line below what a card holds. */
export const Note = ({ icon, children }: { icon: ReactNode; children: ReactNode }) => (
  <p className={css.note}>
    {icon}
    <span>{children}</span>
  </p>
);
