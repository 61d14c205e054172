import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useLayoutEffect, useRef, type CSSProperties, type ReactNode, type RefObject } from "react";
import { Link } from "wouter";
import type { Thread } from "../data/threads";
import { named } from "../parts/id";
import { Said } from "../parts/said";
import { Ago } from "../parts/time";
import { marked } from "../text/hidden";
import { threadPath } from "../thread/address";
import { Now, Status, type Column } from "./columns";
import type { Filter } from "./filter";
import css from "./table.module.css";

type Props = {
  rows: Thread[];
  columns: Column[];
  filter: Filter;
  wide: boolean;
  /** at is the row that keys act on, by its name. The list is one stop of Tab, and that is this row. */
  at: string | undefined;
  /** wants says which row shall have the focus once it is drawn: that of a thread, or the one at. */
  wants: RefObject<boolean | string>;
  move: (by: number) => void;
  /** hold is told which row got the focus. */
  hold: (thread: string) => void;
  /** top is how far the list is scrolled at first, and scrolled is told how far it is now. */
  top: number;
  scrolled: (top: number) => void;
  select: ((thread: string) => void) | undefined;
  selected: Set<string>;
  all: boolean;
  selectAll: () => void;
  near: () => void;
  see: (row: number) => void;
  /** rest says whether a mouse is over the rows. */
  rest: (on: boolean) => void;
  /** news is shown over the rows and moves none. */
  news: ReactNode;
};

/** Table shows rows of threads, and draws only those that are on the screen. */
export function Table({
  rows,
  columns,
  filter,
  wide,
  at,
  wants,
  move,
  hold,
  top,
  scrolled,
  select,
  selected,
  all,
  selectAll,
  near,
  see,
  rest,
  news,
}: Props) {
  const scroll = useRef<HTMLDivElement>(null);
  const stepped = useRef(false);
  const height = wide ? 36 : 60;
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroll.current,
    estimateSize: () => height,
    getItemKey: (i) => rows[i]?.thread ?? i,
    overscan: 12,
    initialOffset: top,
  });
  useEffect(() => virtual.measure(), [virtual, height]);
  const items = virtual.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  const middle = items[Math.floor(items.length / 2)]?.index ?? 0;
  useEffect(() => {
    if (last >= rows.length - 60) near();
  }, [last, rows.length, near]);
  useEffect(() => see(middle), [middle, see]);
  const index = at === undefined ? -1 : rows.findIndex((r) => r.thread === at);
  useEffect(() => {
    if (index >= 0 && wants.current && stepped.current) virtual.scrollToIndex(index);
    stepped.current = true;
    // Only when a key chose another row: rows that move do not scroll, and none does under a pointer.
  }, [at]);
  useEffect(() => {
    // An effect of an earlier draw may run after a key: it must not focus the row that the key left.
    if (wants.current !== true && wants.current !== at) return;
    const row = at !== undefined && scroll.current?.querySelector<HTMLElement>('[aria-current="true"] a');
    if (!row) return;
    wants.current = false;
    row.focus({ preventScroll: true });
  });
  const had = useRef(false);
  useLayoutEffect(() => {
    // A row that moved out of sight takes the focus along: keys go on from its thread, and a row that is back has it again.
    const [list, now] = [scroll.current, document.activeElement];
    if (!list || !had.current || (now !== document.body && now !== list)) return;
    (list.querySelector<HTMLElement>('[aria-current="true"] a') ?? list).focus({ preventScroll: true });
  });
  const stop = index >= 0 ? at : rows[0]?.thread;
  const tracks = ["minmax(120px, 208px)", ...columns.map((c) => c.width)];
  const grid = { "--tracks": (select ? ["32px", ...tracks] : tracks).join(" ") } as CSSProperties;
  const line = select ? `${css.line} ${css.picks}` : css.line;
  return (
    <div
      ref={scroll}
      tabIndex={-1}
      className={css.scroll}
      role="group"
      aria-label="list of threads"
      onScroll={(e) => scrolled(e.currentTarget.scrollTop)}
      onKeyDown={(e) => {
        const by = { ArrowDown: 1, ArrowUp: -1, Home: -Infinity, End: Infinity }[e.key];
        if (e.ctrlKey || e.metaKey || e.altKey || e.shiftKey) return;
        const onRow = e.target instanceof HTMLAnchorElement || e.target === e.currentTarget;
        if (e.key === " " && select && at !== undefined && index >= 0 && onRow) select(at);
        else if (by !== undefined) move(by);
        else return;
        e.preventDefault();
      }}
      onPointerMove={(e) => e.pointerType === "mouse" && rest(true)}
      onPointerLeave={() => rest(false)}
    >
      {news}
      <div role="table" aria-label="threads" aria-rowcount={rows.length + 1} style={grid}>
        <div role="rowgroup" className={css.head}>
          <div role="row" className={line} aria-rowindex={1}>
            {select && (
              <span role="columnheader" className={css.check}>
                <input type="checkbox" aria-label="select all that are shown" checked={all} onChange={selectAll} />
              </span>
            )}
            <span role="columnheader">Thread</span>
            {columns.map((c) => (
              <span key={c.key} role="columnheader" className={c.end ? css.end : undefined}>
                {c.name}
              </span>
            ))}
          </div>
        </div>
        <div role="rowgroup" className={css.rows} style={{ height: virtual.getTotalSize() }}>
          {items.map((item) => {
            const t = rows[item.index];
            if (!t) return null;
            const on = selected.has(t.thread);
            return (
              <div
                key={item.key}
                role="row"
                aria-rowindex={item.index + 2}
                aria-current={t.thread === at ? "true" : undefined}
                className={`${line} ${css.row} ${t.thread === at ? css.at : ""} ${on ? css.on : ""}`}
                style={{ height, transform: `translateY(${item.start}px)` }}
              >
                {select && (
                  <span role="cell" className={css.check}>
                    <input
                      type="checkbox"
                      aria-label={`select ${named(t.thread)}`}
                      tabIndex={-1}
                      checked={on}
                      onChange={() => select(t.thread)}
                    />
                  </span>
                )}
                <span role="cell" className={css.name}>
                  <Link
                    href={threadPath(t.thread)}
                    title={titleOf(t)}
                    tabIndex={t.thread === stop ? 0 : -1}
                    onFocus={() => {
                      had.current = true;
                      hold(t.thread);
                    }}
                    onBlur={() => (had.current = false)}
                  >
                    <Said>{named(t.thread)}</Said>
                  </Link>
                </span>
                {wide ? (
                  columns.map((c) => (
                    <span key={c.key} role="cell" className={c.end ? css.end : css.cell}>
                      {c.cell(t, filter)}
                    </span>
                  ))
                ) : (
                  <>
                    <span role="cell" className={css.when}>
                      <Ago at={t.updatedAt} />
                    </span>
                    <span role="cell" className={css.state}>
                      <Status of={t} />
                    </span>
                    <span role="cell" className={css.now}>
                      <Now of={t} filter={filter} />
                    </span>
                  </>
                )}
              </div>
            );
          })}
        </div>
      </div>
    </div>
  );
}

/** titleOf is what a row says on hover: the name, where it is shortened, and the whole line of now. */
const titleOf = (t: Thread) =>
  [named(t.thread) === t.thread ? "" : marked(t.thread), t.now ? marked(t.now) : ""].filter(Boolean).join("\n") ||
  undefined;
