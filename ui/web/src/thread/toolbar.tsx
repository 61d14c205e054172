import { GitBranch, X } from "lucide-react";
import { useState } from "react";
import type { Schemas } from "../api/client";
import { Key } from "../parts/key";
import { Said } from "../parts/said";
import { Branches } from "./branches";
import { filters, kept, type Filter, type Row } from "./items";
import { laneAt } from "./lane";
import type { Layout } from "./lanes";

import type { Mode } from "./scrub";
import css from "./toolbar.module.css";

type Props = {
  thread: Schemas["Thread"];
  rows: Row[];
  complete: boolean;
  layout: Layout;
  chosen: string;
  filter: Filter;
  between: [number, number] | undefined;
  mode: Mode;
  setFilter: (f: Filter) => void;
  setBetween: (b: [number, number] | undefined) => void;
  setMode: (m: Mode) => void;
  choose: (branch: string) => void;
};

/** Toolbar narrows the rows, and leads to the branches that have no lane of their own. */
export function Toolbar(p: Props) {
  const [open, setOpen] = useState(false);
  const branches = p.thread.branches ?? [];
  const { more, rest } = p.layout;
  return (
    <div className={css.bar}>
      {more.length > 0 && (
        <button
          type="button"
          className={css.rest}
          style={{ left: laneAt(rest) - 18 }}
          onClick={() => setOpen(true)}
          aria-label={`${more.length} branches that share a lane`}
        >
          +{more.length}
        </button>
      )}
      <div
        className={css.filters}
        role="group"
        aria-label="which checkpoints"
        style={more.length > 0 ? { marginLeft: laneAt(rest) + 12 } : undefined}
      >
        {filters.map(({ filter, name, of }) => {
          const count = filter === "all" ? 0 : p.rows.filter(kept[filter]).length;
          if (filter !== "all" && filter !== p.filter && count === 0) return null;
          return (
            <button
              key={filter}
              type="button"
              aria-pressed={p.filter === filter}
              title={of}
              className={p.filter === filter ? `${css.filter} ${css.on}` : css.filter}
              onClick={() => p.setFilter(p.filter === filter ? "all" : filter)}
            >
              {name}
              {count > 0 && (
                <span className={css.count}>
                  {count}
                  {p.complete ? "" : "+"}
                </span>
              )}
            </button>
          );
        })}
        {p.between && (
          <button type="button" className={`${css.filter} ${css.on}`} onClick={() => p.setBetween(undefined)}>
            #{p.between[0]} to #{p.between[1]} <X size={12} strokeWidth={2} aria-label="show all" />
          </button>
        )}
      </div>
      {branches.length > 1 && (
        <button type="button" className={css.filter} onClick={() => setOpen(true)}>
          <GitBranch size={14} strokeWidth={1.5} aria-hidden />
          <span className={css.chosen}>
            <Said>{p.chosen}</Said>
          </span>
          <span className={css.count}>of {branches.length}</span>
        </button>
      )}
      <button
        type="button"
        className={`${css.filter} ${css.mode}`}
        onClick={() => p.setMode(p.mode === "order" ? "time" : "order")}
        title="the line above by the order of checkpoints, or to their times"
      >
        {p.mode === "order" ? "in order" : "by time"} <Key>t</Key>
      </button>
      <Branches
        open={open}
        close={() => setOpen(false)}
        branches={branches}
        rows={p.rows}
        chosen={p.chosen}
        choose={(b) => {
          setOpen(false);
          p.choose(b);
        }}
      />
    </div>
  );
}
