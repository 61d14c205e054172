import { Search } from "lucide-react";
import type { ReactNode } from "react";
import { Link } from "wouter";
import { Problem } from "../api/client";
import { Button } from "../parts/button";
import { Failure } from "../parts/notice";
import { Said } from "../parts/said";
import { openPalette } from "./open";
import css from "./missing.module.css";

type Way = { name: string; href: string };

type Props = {
  /** what was looked for, as in "thread", and its name. */
  what: string;
  name: string;
  /** search is what the palette begins with, where that is not the name. */
  search?: string;
  /** ways are where it may be found instead; the first is the list that it would stand in. */
  ways: Way[];
  children: ReactNode;
};

/** Missing says what was not found at an address, and leads on from there. */
export const Missing = ({ what, name, search = name, ways, children }: Props) => (
  <div className={css.missing} role="alert">
    <h2>
      There is no {what} <Said>{name}</Said>
    </h2>
    <p>{children}</p>
    <p className={css.ways}>
      {ways.map((w, i) => (
        <Link key={w.href} href={w.href} className={i === 0 ? `${css.way} ${css.first}` : css.way}>
          {w.name}
        </Link>
      ))}
      <Button
        icon={<Search size={16} strokeWidth={1.5} aria-hidden />}
        hint="Ctrl K"
        onClick={() => openPalette(search.slice(0, 200))}
      >
        Search for it
      </Button>
    </p>
  </div>
);

/** Unread stands in the place of what could not be read: it is missing, or the server says what went wrong. */
export const Unread = ({ error, safe, ...props }: Props & { error: unknown; safe?: string }) =>
  error instanceof Problem && error.code === "not-found" ? (
    <Missing {...props} />
  ) : (
    <div className={css.failure}>
      <Failure error={error} {...(safe ? { safe } : {})} />
      <p className={css.ways}>
        {props.ways.map((w) => (
          <Link key={w.href} href={w.href} className={css.way}>
            {w.name}
          </Link>
        ))}
      </p>
    </div>
  );
