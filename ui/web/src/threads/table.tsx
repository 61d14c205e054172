import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef, type CSSProperties, type ReactNode } from "react";
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
  /** at is the row that keys act on, by its name. */
  at: string | undefined;
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
  const height = wide ? 36 : 60;
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroll.current,
    estimateSize: () => height,
    getItemKey: (i) => rows[i]?.thread ?? i,
    overscan: 12,
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
    if (index >= 0) virtual.scrollToIndex(index);
    // Only when another row is chosen: rows that move do not scroll.
  }, [at]);
  const tracks = ["minmax(120px, 208px)", ...columns.map((c) => c.width)];
  const grid = { "--tracks": (select ? ["32px", ...tracks] : tracks).join(" ") } as CSSProperties;
  const line = select ? `${css.line} ${css.picks}` : css.line;
  return (
    <div
      ref={scroll}
      className={css.scroll}
      tabIndex={0}
      role="group"
      aria-label="list of threads"
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
                      checked={on}
                      onChange={() => select(t.thread)}
                    />
                  </span>
                )}
                <span role="cell" className={css.name}>
                  <Link href={threadPath(t.thread)} title={titleOf(t)}>
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
