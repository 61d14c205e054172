import { useCallback, useDeferredValue, useEffect, useMemo, useState } from "react";
import { useLocation } from "wouter";
import type { Schemas } from "../api/client";
import { useMe } from "../data/me";
import type { useRows } from "../data/thread";
import { Inspector } from "../inspector/inspector";
import { announce } from "../parts/announce";
import { Empty, Failure, Skeleton } from "../parts/notice";
import { Said } from "../parts/said";
import { useNow } from "../parts/time";
import { useWide } from "../parts/wide";
import { Bar } from "../shell/bar";
import { useKeys } from "../shell/keys";
import type { Done } from "./actions";
import { threadPath, useWhere } from "./address";
import { Banner } from "./banner";
import { Header } from "./header";
import { itemsOf, joined, kept, lineOf, runningNow, type Filter, type Item } from "./items";
import { layout } from "./lanes";
import type { Mode } from "./scrub";
import { Rows } from "./rows";
import { Scrubber } from "./scrubber";
import { Sheet } from "./sheet";
import { Toolbar } from "./toolbar";
import { VersionBanner } from "./versions";
import css from "./screen.module.css";

const modeKept = () => (localStorage.getItem("thread-mode") === "order" ? "order" : "time");

/** Loaded is one thread, or a version of it: its branches as lanes, a row a checkpoint, and what is looked at of it. */
export function Loaded({ thread, read }: { thread: Schemas["Thread"]; read: ReturnType<typeof useRows> }) {
  const name = thread.thread;
  const [where, go, close] = useWhere();
  const [, navigate] = useLocation();
  const me = useMe();
  const wide = useWide();
  const { pending, error, complete, more } = read;
  const rows = useMemo(() => joined(read.rows), [read.rows]);
  const [filter, setFilter] = useState<Filter>("all");
  const between = where.rows;
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set());
  const [mode, setMode] = useState<Mode>(modeKept);
  const [gone, setGone] = useState<Done["gone"]>();
  const branches = thread.branches ?? [];
  const byID = useMemo(() => new Map(rows.map((r) => [r.id, r])), [rows]);
  const asked = where.at === undefined ? undefined : byID.get(where.at);
  const newest = branches.reduce<(typeof branches)[number] | undefined>(
    (a, b) => (a && a.seq > b.seq ? a : b),
    undefined,
  );
  const chosen = asked?.branch ?? where.branch ?? newest?.branch ?? "main";
  const branch = branches.find((b) => b.branch === chosen);
  const head = branch?.head ?? rows.find((r) => r.branch === chosen)?.id;
  const at = where.at ?? head;
  const row = at === undefined ? undefined : byID.get(at);

  const running = branch?.status === "running" && !!thread.lease?.held;
  const held = !!thread.lease?.held;
  const slow = useDeferredValue(rows);
  const deferred = slow.length > 0 ? slow : rows;
  const items = useMemo(
    () => [
      ...(filter === "all" && !between && held ? runningNow(deferred, branches) : []),
      ...itemsOf(deferred, {
        thread: name,
        filter,
        opened,
        ...(between ? { between } : {}),
        ...(where.at ? { at: where.at } : {}),
      }),
    ],
    // branches is new with each reading of the summary; its heads say whether anything moved
    [deferred, name, filter, between, opened, where.at, held, branches.map((b) => `${b.head} ${b.status}`).join()],
  );
  const lanes = useMemo(() => layout(items, wide ? 8 : 3, chosen, complete), [items, wide, chosen, complete]);
  const line = useMemo(() => lineOf(deferred, chosen), [deferred, chosen]);
  const now = useNow();
  const setBetween = (b: [number, number] | undefined) => {
    const inside = !b || !row || (row.seq >= b[0] && row.seq <= b[1]);
    const newest = inside ? undefined : line.find((r) => r.seq >= b[0] && r.seq <= b[1]);
    go({ rows: b, ...(newest ? { at: newest.id, branch: newest.branch } : {}) });
  };
  const still = !!thread.release || (branch?.status !== "running" && branch?.status !== "waiting");
  const effects = useMemo(() => rows.reduce((n, r) => n + (r.effects?.length ?? 0), 0), [rows]);

  // On a phone the sheet is a place of its own, which Back leaves. Who looks elsewhere drafts no more.
  const sheet = !wide && (where.at !== undefined || !!where.draft);
  const look = useCallback(
    (item: Item) => go({ at: item.id, branch: item.branch, draft: undefined }, { push: !wide && !sheet }),
    [go, wide, sheet],
  );
  const toggle = useCallback(
    (item: { id: string }) =>
      setOpened((before) => {
        const after = new Set(before);
        if (!after.delete(item.id)) after.add(item.id);
        return after;
      }),
    [],
  );
  useEffect(() => localStorage.setItem("thread-mode", mode), [mode]);

  const step = (by: 1 | -1, e: KeyboardEvent) => {
    const from = items.findIndex((i) => i.id === at);
    const wanted = (i: Item) => !i.now && (!e.shiftKey || kept.gates(i.row) || kept.effects(i.row));
    for (let i = from + by; i >= 0 && i < items.length; i += by) {
      const item = items[i];
      if (item && wanted(item)) return look(item);
    }
    if (from < 0 && items[0]) look(items[0]);
  };
  const turn = (by: 1 | -1) => {
    const i = branches.findIndex((b) => b.branch === chosen);
    const next = branches[(i + by + branches.length) % branches.length];
    if (next && branches.length > 1) go({ at: undefined, branch: next.branch });
  };
  const [older, newer] = [(e: KeyboardEvent) => step(1, e), (e: KeyboardEvent) => step(-1, e)];
  useKeys({
    ArrowLeft: older,
    ArrowRight: newer,
    ArrowDown: older,
    ArrowUp: newer,
    j: older,
    k: newer,
    J: older,
    K: newer,
    "[": () => turn(-1),
    "]": () => turn(1),
    t: () => setMode(mode === "order" ? "time" : "order"),
    c: at === undefined ? undefined : () => go({ with: at, tab: "compare" }),
    f: at !== undefined && me.data?.role === "operator" ? () => go({ at, draft: true }) : undefined,
    o: row ? () => toggle(row) : undefined,
    Escape: where.draft
      ? () => go({ draft: undefined })
      : between
        ? () => setBetween(undefined)
        : where.at
          ? () => go({ at: undefined, with: undefined, draft: undefined, branch: chosen })
          : undefined,
  });

  const done = (d: Done) => {
    if (d.gone) setGone(d.gone);
    else if (d.version !== undefined) {
      announce(`Released as version ${d.version}`);
      navigate(threadPath(name, { version: d.version }));
    } else if (d.thread !== undefined) navigate(threadPath(d.thread));
    else if (d.branch !== undefined) go({ branch: d.branch, at: undefined });
  };
  if (gone)
    return (
      <>
        <Bar title={<Said>{name}</Said>} />
        <Empty title="The thread was deleted">The record of who deleted it, and why, stays in the store.</Empty>
      </>
    );
  const past = where.at !== undefined && head !== undefined && where.at !== head && row ? row : undefined;
  const fork =
    me.data?.role === "operator" && at !== undefined
      ? () => go({ at, draft: true }, { push: !wide && !sheet })
      : undefined;
  return (
    <>
      <Header
        thread={thread}
        branch={chosen}
        at={at ?? ""}
        head={head ?? ""}
        effects={effects}
        fork={() => fork?.()}
        done={done}
      />
      {thread.release && <VersionBanner thread={name} release={thread.release} />}
      <Scrubber
        line={line}
        mode={mode}
        running={running}
        now={still ? 0 : now}
        complete={complete}
        at={row}
        between={between}
        setBetween={setBetween}
        look={(id) => {
          const to = byID.get(id);
          if (to) go({ at: id, branch: to.branch });
        }}
      />
      {past && (
        <Banner
          seq={past.seq}
          head={branch?.seq ?? 0}
          branch={chosen}
          back={() => go({ at: undefined, branch: chosen })}
          fork={fork}
        />
      )}
      <div className={where.draft ? `${css.screen} ${css.drafts}` : css.screen}>
        <div className={css.left}>
          <Toolbar
            thread={thread}
            rows={rows}
            complete={complete}
            layout={lanes}
            chosen={chosen}
            filter={filter}
            between={between}
            mode={mode}
            setFilter={setFilter}
            setBetween={setBetween}
            setMode={setMode}
            choose={(b) => go({ at: undefined, branch: b })}
          />
          {pending && <Skeleton rows={12} height={32} />}
          {error && rows.length === 0 && (
            <div className={css.failure}>
              <Failure error={error} safe="What is on record stays there." />
            </div>
          )}
          {!pending && !error && items.length === 0 && (
            <Empty title={rows.length === 0 ? "No checkpoint is on record" : "Nothing of this kind is on record"}>
              {rows.length === 0
                ? "A thread that was released begins again with its next input. Its versions stay readable."
                : "Everything shows all checkpoints again."}
            </Empty>
          )}
          {items.length > 0 && (
            <Rows
              thread={thread}
              items={items}
              layout={lanes}
              chosen={chosen}
              at={at}
              where={where}
              opened={opened}
              look={look}
              toggle={toggle}
              more={more}
            />
          )}
        </div>
        {(wide || sheet) && (
          <Sheet row={row} sheet={sheet} close={() => close({ at: undefined, draft: undefined, branch: chosen })}>
            <Inspector thread={thread} where={at === undefined ? where : { ...where, at }} go={go} />
          </Sheet>
        )}
      </div>
    </>
  );
}
