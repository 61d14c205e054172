import type { ReactNode } from "react";
import { Link } from "wouter";
import css from "./pill.module.css";

type Props = { href: string; on: boolean; icon?: ReactNode; count?: string | undefined; children: ReactNode };

/** Pill narrows a list to something, with how much of it there is. */
export const Pill = ({ href, on, icon, count, children }: Props) => (
  <Link href={href} replace className={on ? `${css.pill} ${css.on}` : css.pill} aria-current={on ? "true" : undefined}>
    {icon}
    {children}
    {count && <b>{count}</b>}
  </Link>
);
