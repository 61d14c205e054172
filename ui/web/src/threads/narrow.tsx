import { Archive, Ban, Check, CircleHelp, Clock, Pause, Play, Save, Search, X } from "lucide-react";
import { useRef } from "react";
import { Link, useLocation } from "wouter";
import { usePrograms, useSaved, useShownCounts, useUnknown } from "../data/threads";
import { Pill } from "../parts/pill";
import { Said } from "../parts/said";
import { useTyped } from "../parts/typed";
import { useKeys } from "../shell/keys";
import { many } from "../text/count";
import { addressOf, isNarrow, statuses, typed, type Filter, type Status } from "./filter";
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
export function SearchField({ filter, leave }: { filter: Filter; leave: (changes: boolean) => void }) {
  const [, go] = useLocation();
  const shown = filter.q ?? "";
  const field = useRef<HTMLInputElement>(null);
  useKeys({ "/": () => field.current?.focus() });
  const search = useTyped(
    shown,
    (text) => go(addressOf({ ...filter, q: text.trim() || undefined } as Filter), { replace: true }),
    200,
  );
  const enter = () => {
    const found = typed(search.text);
    if (found.label) {
      const { q: _, ...rest } = filter;
      search.clear();
      go(addressOf({ ...rest, label: found.label }), { replace: true });
      leave(true);
    } else {
      search.ask(search.text);
      leave((found.q ?? "") !== shown);
    }
  };
  return (
    <label className={css.search}>
      <Search size={16} strokeWidth={1.5} aria-hidden />
      <input
        ref={field}
        type="search"
        aria-label="search threads: the beginning of a name, an id or a label's value, or the end of a name"
        placeholder="Name, id, label"
        title="The beginning of a name or of a label's value, or the last 4 characters of a name. Enter takes name=value as a label."
        value={search.text}
        maxLength={200}
        onChange={(e) => search.type(e.target.value)}
        onKeyDown={(e) => {
          if (e.key === "Enter") enter();
          else if (e.key === "Escape") leave(false);
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
  const { status, unknown: _, released: __, ...rest } = filter;
  const of = (s: Status) => (counts.by ? (counts.by[s] ?? 0) : undefined);
  const usual = filter.node || filter.version ? always.filter((s) => s !== "done") : always; // these have not ended
  const drawn = statuses.filter((s) => usual.includes(s) || s === status || (of(s) ?? 0) > 0);
  return (
    <nav className={css.pills} aria-label="status">
      <Pill
        href={addressOf(rest)}
        on={!status && !filter.unknown && !filter.released}
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
      <Pill href={addressOf({ ...rest, released: true })} on={!!filter.released} icon={<Archive {...icon} />}>
        Released
      </Pill>
    </nav>
  );
}

const names = [
  ["program", "program"],
  ["label", "label"],
  ["node", "at node"],
  ["version", "version"],
  ["by", "started by"],
  ["since", "started since"],
  ["until", "started until"],
] as const;

const offered = 2;

/** Offers are the programs that somebody may have meant by what is searched for. */
export function Offers({ filter }: { filter: Filter }) {
  const { q, ...rest } = filter;
  const text = q?.trim().toLowerCase() ?? "";
  const programs = usePrograms(text.length > 1 && !filter.program);
  if (text.length < 2 || filter.program) return null;
  const meant = (programs.data ?? []).filter((p) => p.name.toLowerCase().startsWith(text)).slice(0, offered);
  return meant.map((p) => (
    <Link key={p.name} href={addressOf({ ...rest, program: p.name })} replace className={css.offer}>
      Program is{" "}
      <b>
        <Said>{p.name}</Said>
      </b>
    </Link>
  ));
}

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
