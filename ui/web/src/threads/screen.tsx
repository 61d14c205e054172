import { ArrowUp, CheckSquare } from "lucide-react";
import { useCallback, useEffect, useMemo, useRef, useState, type RefObject } from "react";
import { useLocation, useSearch } from "wouter";
import { useMe } from "../data/me";
import { useThreads, useThreadCounts } from "../data/threads";
import { Button } from "../parts/button";
import { Failure, Skeleton } from "../parts/notice";
import { useWide } from "../parts/wide";
import { Bar } from "../shell/bar";
import { useCommands } from "../shell/commands";
import { useKeys } from "../shell/keys";
import { many } from "../text/count";
import { threadPath } from "../thread/address";
import { columns, usual } from "./columns";
import { addressOf, filterOf, isCounted, isNarrow, type Filter } from "./filter";
import { useHeld } from "./held";
import { useColumns } from "./kept";
import { leave, leftAt, type Left } from "./left";
import { Nothing } from "./nothing";
import { Offers, Pills, SearchField, Tokens } from "./narrow";
import { Selection } from "./selection";
import { Table } from "./table";
import { Tools } from "./tools";
import css from "./screen.module.css";

/** ThreadsScreen lists threads, newest activity first, narrowed as the address says. */
export function ThreadsScreen() {
  const search = useSearch();
  const filter = useMemo(() => filterOf(search), [search]);
  const wide = useWide();
  const [whole, setWhole] = useState<number>();
  const wants = useRef<boolean | string>(false);
  /** toRows goes from the search to the first row: that which is there now, or that which is found. */
  const toRows = (changes: boolean) => {
    wants.current = changes;
    document.querySelector<HTMLElement>("[role=cell] a")?.focus();
  };
  useEffect(() => {
    document.title = "Threads · Posthouse";
  }, []);
  return (
    <>
      <Bar title="Threads">
        <Total filter={filter} whole={whole} />
      </Bar>
      <div className={css.filters}>
        <SearchField filter={filter} leave={toRows} />
        <Offers filter={filter} />
        <Tokens filter={filter} />
        <Tools filter={filter} wide={wide} />
        <Pills filter={filter} />
      </div>
      <List key={addressOf(filter)} filter={filter} wide={wide} wants={wants} setWhole={setWhole} />
    </>
  );
}

/** Total says how many threads the filter finds: those that are shown, or as far as the server counts. */
function Total({ filter, whole }: { filter: Filter; whole: number | undefined }) {
  const counts = useThreadCounts(filter);
  if (whole !== undefined) return <span className={css.total}>{whole.toLocaleString("en")}</span>;
  if (!counts.data || !isCounted(filter) || filter.status === "saved") return null;
  const some = Object.entries(counts.data).filter(([s]) => !filter.status || s === filter.status);
  const n = some.reduce((a, [, b]) => a + Number(b), 0);
  const full = some.some(([, b]) => many(Number(b)).endsWith("+"));
  return (
    <span className={css.total}>
      {n.toLocaleString("en")}
      {full && "+"}
    </span>
  );
}

type ListProps = {
  filter: Filter;
  wide: boolean;
  wants: RefObject<boolean | string>;
  setWhole: (n: number | undefined) => void;
};

function List({ filter, wide, wants, setWhole }: ListProps) {
  const [, go] = useLocation();
  const me = useMe();
  const operates = me.data?.role === "operator";
  const [before] = useState(() => leftAt(addressOf(filter)));
  const list = useThreads(filter, before?.listing);
  const [chosenColumns] = useColumns(usual);
  const shown = useMemo(() => columns.filter((c) => chosenColumns.includes(c.key)), [chosenColumns]);
  const [at, setAt] = useState(before?.at);
  const [selected, setSelected] = useState<Set<string>>(new Set());
  const [picking, setPicking] = useState(false);
  const [resting, setResting] = useState(false);
  const { rows, fresh, gone, take } = useHeld(list.rows, resting || selected.size > 0);
  const whole = list.pending || list.error || list.hasMore ? undefined : rows.length;
  useEffect(() => setWhole(whole), [whole, setWhole]);
  const select = useCallback((thread: string) => {
    setSelected((was) => {
      const next = new Set(was);
      if (!next.delete(thread)) next.add(thread);
      return next;
    });
  }, []);
  const now = useRef<Left>({ top: before?.top ?? 0 });
  now.current = { listing: list.listing, at, top: now.current.top };
  useEffect(() => () => leave(addressOf(filter), now.current), []);
  useEffect(() => {
    if (before?.at !== undefined) wants.current = true;
  }, []);
  const first = rows[0]?.thread;
  useEffect(() => {
    if (wants.current && at === undefined) setAt(first);
  }, [first]);
  const index = at === undefined ? -1 : rows.findIndex((r) => r.thread === at);
  const place = useRef(0);
  if (index >= 0) place.current = index;
  const step = (by: number) => {
    // Of a thread that left the list its place is left: the one after it stands there.
    const to = index >= 0 ? index + by : at === undefined ? 0 : place.current + (by > 0 ? by - 1 : by);
    const next = rows[Math.min(rows.length - 1, Math.max(0, to))]?.thread;
    wants.current = next ?? false;
    setAt(next);
  };
  useKeys({
    j: () => step(1),
    k: () => step(-1),
    x: operates && at !== undefined && index >= 0 ? () => select(at) : undefined,
    Enter: at === undefined ? undefined : () => go(threadPath(at)),
    Escape: selected.size > 0 ? () => setSelected(new Set()) : undefined,
  });
  useCommands([
    ...(isNarrow(filter) ? [{ name: "Threads: clear the filter", run: () => go("/threads") }] : []),
    ...(operates && rows.length > 0
      ? [{ name: "Threads: choose all that are shown", run: () => setSelected(new Set(rows.map((r) => r.thread))) }]
      : []),
  ]);
  const all = rows.length > 0 && rows.every((r) => selected.has(r.thread));
  const mayPick = operates && (wide || picking);
  return (
    <>
      {list.pending && <Skeleton rows={16} height={wide ? 36 : 60} />}
      {list.error && rows.length === 0 && <Failure error={list.error} safe="All threads stay on record." />}
      {!list.pending && !list.error && rows.length === 0 && !list.hasMore && <Nothing filter={filter} />}
      {(rows.length > 0 || list.hasMore) && (
        <Table
          rows={rows}
          columns={shown}
          filter={filter}
          wide={wide}
          at={at}
          wants={wants}
          move={step}
          hold={setAt}
          top={before?.top ?? 0}
          scrolled={(top) => (now.current.top = top)}
          select={mayPick ? select : undefined}
          selected={selected}
          all={all}
          selectAll={() => setSelected(all ? new Set() : new Set(rows.map((r) => r.thread)))}
          near={list.more.error === undefined ? list.loadMore : noop}
          see={list.see}
          rest={setResting}
          news={
            fresh + gone > 0 && (
              <div className={css.news}>
                <button type="button" className={css.take} onClick={take}>
                  <ArrowUp size={14} strokeWidth={1.75} aria-hidden />
                  {fresh > 0 ? `${fresh.toLocaleString("en")} new` : `${gone.toLocaleString("en")} left the list`}
                </button>
              </div>
            )
          }
        />
      )}
      <footer className={css.foot}>
        {list.more.error !== undefined && (
          <span role="alert">
            The rows after these could not be read.{" "}
            <Button tone="quiet" onClick={() => void list.loadMore()}>
              Try again
            </Button>
          </span>
        )}
        {rows.length > 0 && (
          <span role="status">
            {rows.length.toLocaleString("en")}
            {list.hasMore
              ? list.more.busy
                ? " shown, others are loading"
                : " shown, there are others"
              : " shown, these are all"}
          </span>
        )}
        {operates && !wide && rows.length > 0 && (
          <Button
            tone="quiet"
            icon={<CheckSquare size={16} strokeWidth={1.5} aria-hidden />}
            onClick={() => {
              setPicking(!picking);
              setSelected(new Set());
            }}
          >
            {picking ? "Done choosing" : "Choose"}
          </Button>
        )}
      </footer>
      {operates && selected.size > 0 && (
        <Selection
          filter={filter}
          selected={selected}
          set={setSelected}
          whole={!list.hasMore}
          rows={rows}
          take={take}
        />
      )}
    </>
  );
}

const noop = () => {};
