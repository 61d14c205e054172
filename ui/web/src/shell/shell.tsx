import { BookOpen, CircleUser } from "lucide-react";
import { useEffect, useState, type ReactNode } from "react";
import { Link, useLocation } from "wouter";
import type { Schemas } from "../api/client";
import { useGates } from "../data/gates";
import { useDecides, useWeak } from "../data/me";
import { useFaulty } from "../data/faulty";
import { Announced } from "../parts/announce";
import { later } from "../parts/later";
import { Said } from "../parts/said";
import { screens } from "../screens";
import { Account } from "./account";
import { useControlK, useKeys } from "./keys";
import { Logo } from "./logo";
import { Skeleton } from "../parts/notice";
import { onPalette } from "./open";
import css from "./shell.module.css";

type Me = Schemas["MeBody"];

const focus = () => import("./focus");
const HelpDialog = later(async () => (await import("./help")).HelpDialog);
const Palette = later(async () => (await import("../palette/dialog")).PaletteDialog);

/** Shell is what stands around every screen: navigation, warnings, the palette and the list of keys. */
export function Shell({ me, out, children }: { me: Me; out: boolean; children: ReactNode }) {
  const [location] = useLocation();
  const [help, setHelp] = useState(false);
  const waiting = useWaiting();
  const [palette, setPalette] = useState<string>();
  useKeys({ "?": () => setHelp(true) });
  useControlK(() => setPalette((is) => (is === undefined ? "" : undefined)));
  useEffect(() => onPalette(setPalette), []);
  useEffect(() => void focus().then((f) => f.keepFocus()), []);
  return (
    <div className={css.app}>
      <button type="button" className={css.skip} onClick={() => void focus().then((f) => f.toMain())}>
        Skip to content
      </button>
      <nav className={css.nav} aria-label="screens">
        <Link href="/" className={css.logo} aria-label="Posthouse">
          <Logo />
        </Link>
        {screens.map(
          ({ path, name, icon: Icon, also }) =>
            name &&
            Icon && (
              <Link
                key={path}
                href={path}
                aria-label={path === "/" && waiting ? `${name}, ${waiting} wait for you` : name}
                className={isAt(location, path, also) ? `${css.item} ${css.on}` : css.item}
              >
                <Icon size={16} strokeWidth={1.5} aria-hidden />
                <span className={css.word}>{name}</span>
                {path === "/" && waiting && (
                  <span className={css.badge} aria-hidden>
                    {waiting}
                  </span>
                )}
              </Link>
            ),
        )}
        <a href="/docs" className={css.item} aria-label="Documentation">
          <BookOpen size={16} strokeWidth={1.5} aria-hidden />
          <span className={css.word}>Documentation</span>
        </a>
        <button type="button" className={`${css.item} ${css.bottom}`} popoverTarget="account" aria-label="Account">
          <CircleUser size={16} strokeWidth={1.5} aria-hidden />
          <span className={css.word}>Account</span>
        </button>
      </nav>
      <main id="main" className={css.main}>
        <Banners out={out} role={me.role} />
        {children}
      </main>
      <Account me={me} keys={() => setHelp(true)} />
      <Announced />
      {palette !== undefined && (
        <Palette begin={palette} close={() => setPalette(undefined)} keys={() => setHelp(true)} />
      )}
      {help && <HelpDialog open close={() => setHelp(false)} />}
    </div>
  );
}

/** Frame holds the place of the shell until it is known who is logged in. */
export const Frame = () => (
  <div className={css.app} aria-busy>
    <div className={css.nav} />
    <main className={css.main}>
      <Skeleton rows={8} height={48} />
    </main>
  </div>
);

const isAt = (location: string, path: string, also?: string) =>
  location === path || (path !== "/" && location.startsWith(`${path}/`)) || (!!also && location.startsWith(also));

/** useWaiting says how many questions wait for the person: none for those who may decide nothing. */
function useWaiting(): string {
  // What a screen shows goes first: this is a long answer.
  const [ready, setReady] = useState(false);
  useEffect(() => void setTimeout(setReady, 500, true), []);
  const list = useGates("mine", undefined, { enabled: useDecides() && ready });
  const first = list.data?.pages[0];
  const n = Object.values(first?.counts ?? {}).reduce((a: number, b) => a + Number(b), 0);
  return n === 0 ? "" : n > 99 ? "99+" : String(n);
}

function Banners({ out, role }: { out: boolean; role: Me["role"] }) {
  const weak = useWeak();
  const faulty = useFaulty().data;
  return (
    <>
      {out && (
        <p className={`${css.banner} ${css.bad}`} role="alert">
          You are logged out. What you typed is kept on this page:{" "}
          <a href={`/login?next=${encodeURIComponent(location.pathname + location.search)}`} target="_blank">
            log in
          </a>{" "}
          in another tab, then go on here.
        </p>
      )}
      {weak.data && weak.data.length > 0 && (
        <div className={`${css.banner} ${css.bad}`} role="alert">
          <strong>This store may lose what it acknowledged.</strong>{" "}
          {weak.data.map((w) => (
            <span key={w}>
              <Said>{w}</Said>{" "}
            </span>
          ))}
        </div>
      )}
      {faulty && (
        <p className={`${css.banner} ${css.bad}`} role="alert">
          <strong>This store has faults.</strong> A verification found them: <Link href="/proof">see what to do</Link>.
        </p>
      )}
      {role === "viewer" && (
        <p className={css.banner}>You are a viewer: you may read threads, questions and proof, and decide nothing.</p>
      )}
    </>
  );
}
