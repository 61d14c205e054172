import { useEffect, type ReactNode } from "react";
import { Link } from "wouter";
import { useVersion } from "../data/me";
import { live as feedOf } from "../data/query";
import { exact } from "../parts/time";
import { Key } from "../parts/key";
import { openPalette } from "./open";
import css from "./bar.module.css";

type BarProps = {
  title: ReactNode;
  /** up is the list that what is shown stands in. */
  up?: { name: string; href: string };
  children?: ReactNode;
  end?: ReactNode;
};

/** Bar is the top of a screen: its name, its places, and whether it is live. */
export function Bar({ up, title, children, end }: BarProps) {
  const name = typeof title === "string" ? title : undefined;
  useEffect(() => {
    if (name) document.title = `${name} · Posthouse`; // a screen that says more says it after this
  }, [name]);
  return (
    <header className={css.bar}>
      <h1>
        {up && (
          <>
            <Link href={up.href} className={css.up}>
              {up.name}
            </Link>{" "}
            /{" "}
          </>
        )}
        {title}
      </h1>
      {children}
      <span className={css.space} />
      <Demo />
      {end}
      <LiveState />
      <button
        type="button"
        className={css.palette}
        aria-label="Ctrl K: go to"
        title="go to a thread, a program, an id or a command"
        onClick={() => openPalette()}
      >
        <Key>Ctrl K</Key>
      </button>
    </header>
  );
}

/** Demo says that what is shown was made up. */
function Demo() {
  const version = useVersion();
  return version.data?.demo ? (
    <span className={css.demo} title="a week that was made up; it is gone when the server ends">
      demo
    </span>
  ) : null;
}

/** LiveState says whether the screen follows what is recorded. A click pauses it. */
function LiveState() {
  const feed = feedOf();
  const { live, ever, paused, out, since: changed } = feed.use();
  const on = live && !out;
  const since = out ?? changed;
  const at = exact(new Date(since).toISOString());
  const word = out ? "logged out" : paused ? "paused" : on ? "live" : ever ? "not live" : "connecting";
  return (
    <button
      type="button"
      className={on && !paused ? css.live : `${css.live} ${css.off}`}
      onClick={() => feed.pause()}
      title={
        out
          ? `nobody is logged in here since ${at}`
          : paused
            ? `paused since ${at}: go on`
            : on
              ? "what is recorded is shown as it happens: pause"
              : `the server is not heard since ${at}; it is tried again`
      }
      aria-label={`${word}${on && !paused ? "" : ` since ${at}`}`}
    >
      {word}
      {(paused || !on) && (
        <span className={css.since}>
          {" "}
          since {new Date(since).toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit" })}
        </span>
      )}
    </button>
  );
}
