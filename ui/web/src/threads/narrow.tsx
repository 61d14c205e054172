import {
  Check,
  CircleHelp,
  Clock,
  Columns3,
  FileUp,
  Filter as FilterIcon,
  Bookmark,
  Pause,
  Play,
  Save,
  Search,
  Trash2,
  X,
  Ban,
} from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { Link, useLocation } from "wouter";
import { usePrograms, useSaved, useShownCounts, useUnknown } from "../data/threads";
import { Button } from "../parts/button";
import { Menu } from "../parts/menu";
import { Pill } from "../parts/pill";
import { Said } from "../parts/said";
import { useKeys } from "../shell/keys";
import { many } from "../text/count";
import { columns, usual as usualColumns } from "./columns";
import { addressOf, filterOf, isNarrow, statuses, typed, type Filter, type Status } from "./filter";
import { useColumns, useViews } from "./kept";
import css from "./narrow.module.css";

const icon = { size: 14, strokeWidth: 1.5, "aria-hidden": true } as const;

const icons: Record<Status, React.ReactNode> = {
  waiting: <Clock {...icon} />,
  running: <Play {...icon} />,
  failed: <X {...icon} />,
  interrupted: <Pause {...icon} />,
  ready: <Pause {...icon} />,
  done: <Check {...icon} />,
  cancelled: <Ban {...icon} />,
};

const always: Status[] = ["waiting", "running", "failed", "done"];
const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

/** SearchField narrows to names, ids and labels that begin so, a moment after the last key. */
export function SearchField({ filter }: { filter: Filter }) {
  const [, go] = useLocation();
  const shown = filter.q ?? "";
  const [text, setText] = useState(shown);
  const field = useRef<HTMLInputElement>(null);
  const wait = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => setText(shown), [shown]);
  useEffect(() => () => clearTimeout(wait.current), []);
  useKeys({ "/": () => field.current?.focus() });
  const search = (value: string) =>
    go(addressOf({ ...filter, q: value.trim() || undefined } as Filter), { replace: true });
  return (
    <label className={css.search}>
      <Search size={16} strokeWidth={1.5} aria-hidden />
      <input
        ref={field}
        type="search"
        aria-label="search threads: the beginning of a name, an id or a label's value, or the end of a name"
        placeholder="Name, id, label"
        title="The beginning of a name or of a label's value, or the last 4 characters of a name. Enter takes name=value as a label."
        value={text}
        maxLength={200}
        onChange={(e) => {
          const value = e.target.value;
          setText(value);
          clearTimeout(wait.current);
          wait.current = setTimeout(() => search(value), 200);
        }}
        onKeyDown={(e) => {
          if (e.key === "Enter") {
            clearTimeout(wait.current);
            const found = typed(text);
            if (found.label) {
              const { q: _, ...rest } = filter;
              setText("");
              go(addressOf({ ...rest, label: found.label }), { replace: true });
            } else {
              search(text);
              field.current?.blur();
            }
          } else if (e.key === "Escape") field.current?.blur();
        }}
      />
    </label>
  );
}

/** Pills narrow by status, with how many there are of each. */
export function Pills({ filter }: { filter: Filter }) {
  const counts = useShownCounts(filter);
  const unknown = useUnknown();
  const saved = useSaved();
  const { status, unknown: _, ...rest } = filter;
  const of = (s: Status) => (counts.by ? (counts.by[s] ?? 0) : undefined);
  const usual = filter.node || filter.version ? always.filter((s) => s !== "done") : always; // these have not ended
  const drawn = statuses.filter((s) => usual.includes(s) || s === status || (of(s) ?? 0) > 0);
  return (
    <nav className={css.pills} aria-label="status">
      <Pill
        href={addressOf(rest)}
        on={!status && !filter.unknown}
        count={counts.all === undefined ? undefined : many(counts.all)}
      >
        All
      </Pill>
      {drawn.map((s) => {
        const n = of(s);
        return (
          <Pill
            key={s}
            href={addressOf({ ...rest, status: s })}
            on={s === status}
            icon={icons[s]}
            count={n === undefined ? undefined : many(n)}
          >
            {capital(s)}
          </Pill>
        );
      })}
      {(status === "saved" || (!filter.node && (saved.data?.count ?? 0) > 0)) && (
        <Pill
          href={addressOf({ ...rest, status: "saved" })}
          on={status === "saved"}
          icon={<Save {...icon} />}
          count={!saved.data || isNarrow(rest) ? undefined : `${saved.data.count}${saved.data.more ? "+" : ""}`}
        >
          Saved
        </Pill>
      )}
      {(filter.unknown || (unknown.data?.count ?? 0) > 0) && (
        <Pill
          href={addressOf({ ...rest, unknown: true })}
          on={!!filter.unknown}
          icon={<CircleHelp {...icon} />}
          count={!unknown.data || isNarrow(rest) ? undefined : `${unknown.data.count}${unknown.data.more ? "+" : ""}`}
        >
          Unknown effect
        </Pill>
      )}
    </nav>
  );
}

const names: [keyof Filter & ("program" | "label" | "node" | "version"), string][] = [
  ["program", "program"],
  ["label", "label"],
  ["node", "at node"],
  ["version", "version"],
];

/** Tokens say what else the list is narrowed to. A click widens it. */
export const Tokens = ({ filter }: { filter: Filter }) => (
  <>
    {names.map(([key, name]) => {
      const value = filter[key];
      if (!value) return null;
      const { [key]: _, ...rest } = filter;
      return (
        <Link key={key} href={addressOf(rest)} replace className={css.token} title="leave it out">
          <span>
            {name}{" "}
            <b>
              <Said>{value}</Said>
            </b>
          </span>
          <X size={12} aria-label="leave it out" />
        </Link>
      );
    })}
  </>
);

/** Tools are the menus: what else to narrow to, columns, and views. */
export function Tools({ filter, wide }: { filter: Filter; wide: boolean }) {
  return (
    <div className={css.tools}>
      <Menu name={wide ? "Filter" : ""} label="Filter" icon={<FilterIcon {...icon} />}>
        {(close) => <FilterMenu key={addressOf(filter)} filter={filter} close={close} />}
      </Menu>
      <Menu name={wide ? "Views" : ""} label="Views" icon={<Bookmark {...icon} />}>
        {(close) => <ViewsMenu filter={filter} close={close} />}
      </Menu>
      {wide && (
        <Menu name="Columns" label="Columns" icon={<Columns3 {...icon} />}>
          {() => <ColumnsMenu />}
        </Menu>
      )}
      <Link
        href="/file"
        className={css.file}
        aria-label="Open a file"
        title="Look at a thread that was exported to a file"
      >
        <FileUp {...icon} />
        {wide && "Open a file"}
      </Link>
    </div>
  );
}

function FilterMenu({ filter, close }: { filter: Filter; close: () => void }) {
  const [, go] = useLocation();
  const programs = usePrograms();
  const [label, setLabel] = useState(filter.label ?? "");
  const served = [
    ...new Set([...(programs.data ?? []).map((p) => p.name), ...(filter.program ? [filter.program] : [])]),
  ];
  const set = (to: Partial<Filter>) => go(addressOf({ ...filter, ...to } as Filter), { replace: true });
  return (
    <form
      className={css.form}
      onSubmit={(e) => {
        e.preventDefault();
        set(typed(label).label ? { label: typed(label).label as string } : ({ label: undefined } as Partial<Filter>));
        close();
      }}
    >
      <label>
        Program
        <select value={filter.program ?? ""} onChange={(e) => set({ program: e.target.value })}>
          <option value="">all</option>
          {served.map((p) => (
            <option key={p}>{p}</option>
          ))}
        </select>
      </label>
      <label>
        Label
        <input placeholder="customer=C-450" maxLength={400} value={label} onChange={(e) => setLabel(e.target.value)} />
      </label>
      <Button type="submit">Narrow</Button>
    </form>
  );
}

function ViewsMenu({ filter, close }: { filter: Filter; close: () => void }) {
  const [views, setViews] = useViews();
  const [name, setName] = useState("");
  const search = addressOf(filter).replace("/threads", "");
  const save = () => {
    if (!name.trim()) return;
    setViews([...views.filter((v) => v.name !== name.trim()), { name: name.trim(), search }]);
    setName("");
  };
  return (
    <div className={css.form}>
      {views.length === 0 && (
        <p>A view is a list as it is narrowed now, under a name. Views are kept in this browser.</p>
      )}
      <ul className={css.views}>
        {views.map((v) => (
          <li key={v.name}>
            <Link
              href={addressOf(filterOf(v.search))}
              onClick={close}
              aria-current={v.search === search ? "true" : undefined}
            >
              <Said>{v.name}</Said>
            </Link>
            <button
              type="button"
              aria-label={`remove the view ${v.name}`}
              onClick={() => setViews(views.filter((o) => o !== v))}
            >
              <Trash2 {...icon} />
            </button>
          </li>
        ))}
      </ul>
      <form
        className={css.save}
        onSubmit={(e) => {
          e.preventDefault();
          save();
        }}
      >
        <input
          aria-label="name of the view"
          placeholder={isNarrow(filter) ? "Name this view" : "Narrow the list first"}
          disabled={!isNarrow(filter)}
          maxLength={80}
          value={name}
          onChange={(e) => setName(e.target.value)}
        />
        <Button type="submit" disabled={!name.trim()}>
          Save
        </Button>
      </form>
    </div>
  );
}

function ColumnsMenu() {
  const [chosen, setChosen] = useColumns(usualColumns);
  const flip = (key: string) => setChosen(chosen.includes(key) ? chosen.filter((k) => k !== key) : [...chosen, key]);
  return (
    <fieldset className={css.columns}>
      <legend>Columns</legend>
      {columns.map((c) => (
        <label key={c.key}>
          <input type="checkbox" checked={chosen.includes(c.key)} onChange={() => flip(c.key)} />
          {c.name}
        </label>
      ))}
    </fieldset>
  );
}
