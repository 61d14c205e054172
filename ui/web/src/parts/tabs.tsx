import type { ReactNode } from "react";
import { Link } from "wouter";
import css from "./tabs.module.css";

export type Tab = { name: string; href: string; count?: string; on: boolean };

/** Tabs are places of one screen. Each has an address. */
export const Tabs = ({ tabs, label }: { tabs: Tab[]; label: string }) => (
  <nav className={css.tabs} aria-label={label}>
    {tabs.map((t) => (
      <Link
        key={t.href}
        href={t.href}
        className={t.on ? `${css.tab} ${css.on}` : css.tab}
        aria-current={t.on ? "page" : undefined}
      >
        {t.name}
        {t.count && <span className={css.count}>{t.count}</span>}
      </Link>
    ))}
  </nav>
);

/** Panes are views of one thing, beside each other. The one that is shown is in the address as its caller says. */
export function Panes<T extends string>({
  panes,
  on,
  show,
  label,
}: {
  panes: { name: T; title: ReactNode }[];
  on: T;
  show: (name: T) => void;
  label: string;
}) {
  return (
    <nav className={css.tabs} aria-label={label}>
      {panes.map((p) => (
        <button
          key={p.name}
          type="button"
          className={p.name === on ? `${css.tab} ${css.pane} ${css.on}` : `${css.tab} ${css.pane}`}
          aria-current={p.name === on ? "true" : undefined}
          onClick={() => show(p.name)}
        >
          {p.title}
        </button>
      ))}
    </nav>
  );
}
