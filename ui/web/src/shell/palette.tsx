import { useMemo, useState } from "react";
import { useLocation } from "wouter";
import { Dialog } from "../parts/dialog";
import { Said } from "../parts/said";
import { screens } from "../screens";
import css from "./palette.module.css";

type Command = { name: string; run: () => void };

/** Palette goes to a screen or an id that somebody types. */
export function Palette({ close, keys }: { close: () => void; keys: () => void }) {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const [, go] = useLocation();
  const found = useMemo<Command[]>(() => {
    const all: Command[] = [
      ...screens.flatMap(({ name, path }) => (name ? [{ name, run: () => go(path) }] : [])),
      { name: "Inbox: all open", run: () => go("/?show=open") },
      { name: "Inbox: decided", run: () => go("/?show=decided") },
      { name: "Documentation", run: () => location.assign("/docs") },
      { name: "Keys", run: keys },
    ];
    const typed = text.trim();
    const named = all.filter((c) => c.name.toLowerCase().includes(typed.toLowerCase()));
    return typed.startsWith("gate-")
      ? [{ name: `Gate ${typed}`, run: () => go(`/gates/${encodeURIComponent(typed)}`) }, ...named]
      : named;
  }, [text, go, keys]);
  const run = (c: Command | undefined) => {
    if (!c) return;
    close();
    c.run();
  };
  const step = (by: number) => setAt((i) => Math.min(Math.max(0, i + by), found.length - 1));
  return (
    <Dialog open close={close} title="Go to" top>
      <input
        className={css.input}
        autoFocus
        role="combobox"
        aria-expanded
        aria-controls="commands"
        aria-activedescendant={`command-${at}`}
        aria-label="Go to an id or a screen"
        placeholder="Go to an id or a screen"
        value={text}
        onChange={(e) => {
          setText(e.target.value);
          setAt(0);
        }}
        onKeyDown={(e) => {
          if (e.key === "ArrowDown") step(1);
          else if (e.key === "ArrowUp") step(-1);
          else if (e.key === "Enter") run(found[at]);
          else return;
          e.preventDefault();
        }}
      />
      <ul id="commands" role="listbox" aria-label="what was found" className={css.list}>
        {found.map((c, i) => (
          <li
            key={c.name}
            id={`command-${i}`}
            role="option"
            aria-selected={i === at}
            className={i === at ? css.on : ""}
            onClick={() => run(c)}
          >
            <Said>{c.name}</Said>
          </li>
        ))}
        {found.length === 0 && (
          <li className={css.nothing}>Nothing has that name. The whole id of a gate leads to it.</li>
        )}
      </ul>
    </Dialog>
  );
}
