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
