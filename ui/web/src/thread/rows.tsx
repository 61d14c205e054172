import { useVirtualizer } from "@tanstack/react-virtual";
import { ArrowUp } from "lucide-react";
import { useCallback, useEffect, useLayoutEffect, useRef, useState, type CSSProperties } from "react";
import type { Schemas } from "../api/client";
import { named } from "../parts/id";
import { threadPath, type Where } from "./address";
import type { Item } from "./items";
import { lanesWide } from "./lane";
import type { Layout } from "./lanes";
import { ThreadRow } from "./row";
import css from "./rows.module.css";

type Props = {
  thread: Pick<Schemas["Thread"], "thread" | "branches" | "tail" | "lease">;
  items: Item[];
  layout: Layout;
  chosen: string;
  at: string | undefined;
  where: Where;
  opened: ReadonlySet<string>;
  look: (item: Item) => void;
  toggle: (item: Item) => void;
  more: () => void;
  /** The rows are of a file: nothing else of them can be read. */
  file?: boolean;
};

/** Rows is the list of a thread's checkpoints with their lanes. Only what is on the screen is drawn. */
export function Rows(p: Props) {
  const { items, layout, at, where, opened, more } = p;
  const scroll = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: items.length,
    getScrollElement: () => scroll.current,
    estimateSize: () => 32,
    overscan: 10,
    getItemKey: (i) => items[i]?.id ?? i,
  });
  const heads = new Map((p.thread.branches ?? []).map((b) => [b.head, b]));
  const goOn = new Set(items.filter((i) => i.now).map((i) => i.parent));
  const digits = String(p.thread.tail.seq).length;
  const { fresh, unseen, seen } = useFollowed(items, scroll, where.at === undefined);
  const wide = lanesWide(layout.width);
  const several = (p.thread.branches ?? []).length > 1;
  const owner = p.thread.lease?.held ? named(p.thread.lease.owner) : undefined;

  const index = items.findIndex((i) => i.id === at);
  const looked = useRef<string>(undefined);
  useEffect(() => {
    if (index < 0 || looked.current === at) return;
    looked.current = at;
    const shown = virtual.getVirtualItems();
    const near = index >= (shown[0]?.index ?? 0) && index <= (shown.at(-1)?.index ?? 0);
    virtual.scrollToIndex(index, { align: near ? "auto" : "center" });
  }, [at, index, virtual]);

  const visible = virtual.getVirtualItems();
  const last = visible.at(-1)?.index ?? 0;
  useEffect(() => {
    if (last > items.length - 100) more();
  }, [last, items.length, more]);

  return (
    <div className={css.rows}>
      {unseen > 0 && (
        <button
          type="button"
          className={css.pill}
          onClick={() => {
            scroll.current?.scrollTo({ top: 0 });
            seen();
          }}
        >
          <ArrowUp size={14} strokeWidth={1.75} aria-hidden /> {unseen} new
        </button>
      )}
      <div ref={scroll} className={css.scroll} data-rows tabIndex={-1}>
        <ol
          style={{ height: virtual.getTotalSize(), "--seq": `${Math.max(36, 12 + 8 * digits)}px` } as CSSProperties}
          className={css.list}
          aria-label="checkpoints, the newest first"
        >
          {visible.map((v) => {
            const item = items[v.index];
            if (!item) return null;
            const head = heads.get(item.id);
            return (
              <li
                key={v.key}
                ref={virtual.measureElement}
                data-index={v.index}
                style={{ transform: `translateY(${v.start}px)` }}
                aria-posinset={v.index + 1}
                aria-setsize={items.length}
              >
                <ThreadRow
                  item={item}
                  slice={layout.slice(v.index)}
                  chosen={p.chosen}
                  rest={layout.rest}
                  wide={wide}
                  on={item.id === at && !item.now}
                  pinned={item.id === where.with}
                  fresh={fresh.has(item.id)}
                  open={opened.has(item.id) && item.count === 1 && !item.now}
                  head={goOn.has(item.id) ? undefined : head?.status}
                  named={several && head !== undefined}
                  owner={item.now ? owner : undefined}
                  file={p.file}
                  href={p.file ? "#" : threadPath(p.thread.thread, { ...where, at: item.id, branch: item.branch })}
                  look={p.look}
                  toggle={p.toggle}
                />
              </li>
            );
          })}
        </ol>
      </div>
    </div>
  );
}

/**
 * useFollowed keeps what is read in its place while rows come above it. At the head of the list rows
 * slide in; else it counts those that were not seen.
 */
function useFollowed(items: Item[], scroll: React.RefObject<HTMLDivElement | null>, atHead: boolean) {
  const known = useRef<{ newest: number; ids: Set<string> }>(undefined);
  const [unseen, setUnseen] = useState(0);
  const [fresh, setFresh] = useState<ReadonlySet<string>>(new Set());
  const seen = useCallback(() => setUnseen(0), []);
  useLayoutEffect(() => {
    const newest = items.find((i) => !i.now)?.row.seq ?? 0;
    const before = known.current;
    if (!before || items.length === 0) {
      known.current = { newest, ids: new Set() };
      return;
    }
    const added = items.filter((i) => !i.now && i.row.seq > before.newest);
    known.current = { newest: Math.max(newest, before.newest), ids: before.ids };
    if (added.length === 0) return;
    const top = scroll.current?.scrollTop ?? 0;
    if (atHead && top < 8) {
      setFresh(new Set(added.map((i) => i.id)));
      return;
    }
    scroll.current?.scrollTo({ top: top + 32 * added.length });
    setUnseen((n) => n + added.length);
  }, [items, scroll, atHead]);
  useEffect(() => {
    if (atHead && (scroll.current?.scrollTop ?? 0) < 8) setUnseen(0); // as after a fork of one's own
  }, [atHead, scroll]);
  useEffect(() => {
    const element = scroll.current;
    const moved = () => {
      if (element && element.scrollTop < 8) setUnseen(0);
    };
    element?.addEventListener("scroll", moved, { passive: true });
    return () => element?.removeEventListener("scroll", moved);
  }, [scroll]);
  return { fresh, unseen, seen };
}
