import { useEffect, useRef, useState } from "react";
import { useLocation } from "wouter";
import { useMe } from "../data/me";
import { live } from "../data/query";
import { usePrograms } from "../data/threads";
import { announce } from "../parts/announce";
import { Chip } from "../parts/chip";
import { Dialog } from "../parts/dialog";
import { named } from "../parts/id";
import { Key } from "../parts/key";
import { Said } from "../parts/said";
import { programPath } from "../programs/address";
import { screens } from "../screens";
import { useCommandsNow, type Command } from "../shell/commands";
import { setTheme } from "../shell/theme";
import { addressOf } from "../threads/filter";
import { useFound, type Find } from "./found";
import css from "./dialog.module.css";

type Item = { key: string; name: string; also?: string | undefined; state?: string | undefined; run: () => void };
type Group = { name: string; items: Item[] };

/** PaletteDialog says what a text names, and goes there. */
export function PaletteDialog({
  begin,
  close,
  keys,
}: {
  /** begin is the text that it opens with. */
  begin: string;
  close: () => void;
  keys: () => void;
}) {
  const [text, setText] = useState(begin);
  const [at, setAt] = useState(0);
  const [, go] = useLocation();
  const list = useRef<HTMLDivElement>(null);
  const found = useFound(text);
  const operator = useMe().data?.role === "operator";
  const starts = (usePrograms(operator).data ?? []).filter((p) => operator && p.starts);
  const all = [
    ...useCommandsNow(),
    ...everywhere(go, keys),
    ...(operator ? ofOperators(go) : []),
    ...starts.map((p) => ({ name: `Start a run: ${p.name}`, run: () => go(programPath(p.name)) })),
  ];
  const typed = text.trim().toLowerCase();
  const to = (f: Find): Item => ({
    ...f,
    name: f.key.startsWith("thread ") ? named(f.name) : f.name,
    run: () => go(f.to),
  });
  const commands = all.filter((c) => c.name.toLowerCase().includes(typed));
  const groups: Group[] = [
    { name: "Questions", items: found.gates.map(to) },
    { name: "Checkpoints", items: found.checkpoints.map(to) },
    { name: typed ? "Threads" : "Newest threads", items: found.threads.map(to) },
    { name: "Programs", items: found.programs.map(to) },
    { name: "Commands", items: commands.map((c) => ({ key: `command ${c.name}`, ...c })) },
  ].filter((g) => g.items.length > 0);
  if (typed === "") groups.reverse();
  const items = groups.flatMap((g) => g.items);
  const now = Math.min(at, Math.max(0, items.length - 1));
  useEffect(() => {
    list.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
  }, [now, items.length]);
  const run = (i: Item | undefined) => {
    if (!i) return;
    close();
    i.run();
  };
  let index = 0;
  return (
    <Dialog open close={close} title="Go to" top>
      <input
        className={css.input}
        autoFocus
        role="combobox"
        aria-expanded
        aria-controls="found"
        aria-activedescendant={items.length > 0 ? `found-${now}` : undefined}
        aria-label="Go to a thread, a program, an id or a command"
        placeholder="A thread, a program, an id, a command"
        maxLength={200}
        value={text}
        onChange={(e) => {
          setText(e.target.value);
          setAt(0);
        }}
        onKeyDown={(e) => {
          if (e.key === "ArrowDown") setAt((now + 1) % Math.max(1, items.length));
          else if (e.key === "ArrowUp") setAt((now + items.length - 1) % Math.max(1, items.length));
          else if (e.key === "Enter") run(items[now]);
          else return;
          e.preventDefault();
        }}
      />
      <div id="found" ref={list} role="listbox" aria-label="what was found" className={css.list}>
        {groups.map((g) => (
          <div key={g.name} role="group" aria-label={g.name}>
            <div className={css.group} aria-hidden>
              {g.name}
            </div>
            {g.items.map((item) => {
              const i = index++;
              return (
                <div
                  key={item.key}
                  id={`found-${i}`}
                  role="option"
                  aria-selected={i === now}
                  className={i === now ? `${css.item} ${css.on}` : css.item}
                  onClick={() => run(item)}
                >
                  <span className={css.name}>
                    <Said>{item.name}</Said>
                  </span>
                  {item.also && (
                    <span className={css.also}>
                      <Said>{item.also}</Said>
                    </span>
                  )}
                  {item.state && <Chip state={item.state} />}
                </div>
              );
            })}
          </div>
        ))}
      </div>
      <footer className={css.foot}>
        <span role="status">{says(groups, typed, found)}</span>
        <span className={css.how}>
          <Key>↑</Key> <Key>↓</Key> move <Key>⏎</Key> open <Key>Esc</Key> close
        </span>
      </footer>
    </Dialog>
  );
}

/** says what was found, in a line. */
function says(groups: Group[], typed: string, found: ReturnType<typeof useFound>): string {
  if (found.error) return "The server was not asked: it cannot be reached.";
  if (typed && found.busy) return "Searching";
  if (typed === "") return "Type the beginning of a name, or the last characters of an id";
  if (groups.length === 0) return "Nothing has that name or id";
  return groups
    .map((g) => {
      const n = g.items.length;
      const more = g.name === "Threads" && found.more ? ", the newest of more" : "";
      return `${n} ${(n === 1 ? g.name.replace(/s$/, "") : g.name).toLowerCase()}${more}`;
    })
    .join(" · ");
}

/** everywhere are the commands of all screens. */
function everywhere(go: (to: string) => void, keys: () => void): Command[] {
  return [
    ...screens.flatMap(({ name, path }) => (name ? [{ name, run: () => go(path) }] : [])),
    { name: "Threads: open an exported file", run: () => go("/file") },
    { name: "Inbox: all open", run: () => go("/?show=open") },
    { name: "Inbox: decided", run: () => go("/?show=decided") },
    { name: "Threads: waiting", run: () => go(addressOf({ status: "waiting" })) },
    { name: "Threads: failed", run: () => go(addressOf({ status: "failed" })) },
    { name: "Threads: unknown effects", run: () => go(addressOf({ unknown: true })) },
    { name: "Proof: verify the record", run: () => go("/proof") },
    { name: "Proof: keys and witness", run: () => go("/proof?show=keys") },
    { name: "Workers: failed tasks", run: () => go("/workers?show=failed") },
    { name: "Copy the link to this page", run: () => void copyLink() },
    { name: "Pause or go on with live changes", run: () => live().pause() },
    { name: "Theme: light", run: () => setTheme("light") },
    { name: "Theme: dark", run: () => setTheme("dark") },
    { name: "Theme: as the system", run: () => setTheme("system") },
    { name: "Documentation", run: () => location.assign("/docs") },
    { name: "Keys", run: keys },
    { name: "Log out", run: logOut },
  ];
}

/** ofOperators are the commands for what only operators are shown. */
const ofOperators = (go: (to: string) => void): Command[] => [
  { name: "Proof: who did what", run: () => go("/proof?show=audit") },
  { name: "Proof: access", run: () => go("/proof?show=access") },
  { name: "Workers: dead letters", run: () => go("/workers?show=letters") },
  { name: "Settings: tokens", run: () => go("/settings?show=tokens") },
  { name: "Settings: webhooks", run: () => go("/settings?show=webhooks") },
];

const logOut = () => document.querySelector<HTMLFormElement>('form[action="/logout"]')?.requestSubmit();

async function copyLink() {
  await navigator.clipboard?.writeText(location.href);
  announce("The link was copied.");
}
