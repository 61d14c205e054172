import { History, Plus, X } from "lucide-react";
import { useState } from "react";
import { useInputs, type Earlier, type Program } from "../data/programs";
import { Button } from "../parts/button";
import { named } from "../parts/id";
import { Menu } from "../parts/menu";
import { Hidden, Said } from "../parts/said";
import { Ago, exact } from "../parts/time";
import { Inline } from "../parts/value";
import type { Filled, Label } from "./fill";
import css from "./start.module.css";

const icon = { size: 14, strokeWidth: 1.5, "aria-hidden": true } as const;

/** Also takes what a run has beside its input: a name, a time and labels. */
export function Also({ filled, set }: { filled: Filled; set: (to: Filled) => void }) {
  const { id, labels, when } = filled;
  const [open] = useState(id !== "" || when !== "" || labels.length > 0);
  return (
    <details className={css.more} open={open}>
      <summary>Name, time and labels</summary>
      <label className={css.field}>
        <span>Thread</span>
        <input
          placeholder="a new id"
          autoComplete="off"
          maxLength={200}
          value={id}
          onChange={(e) => set({ ...filled, id: e.target.value })}
        />
      </label>
      <label className={css.field}>
        <span>Start at</span>
        <input type="datetime-local" step={1} value={when} onChange={(e) => set({ ...filled, when: e.target.value })} />
      </label>
      {when && (
        <p className={css.time}>
          {exact(new Date(when).toISOString())}, in the zone of this browser unless it says UTC
        </p>
      )}
      <Labels labels={labels} set={(labels) => set({ ...filled, labels })} />
      <Hidden texts={[id, ...labels.flatMap((l) => [l.name, l.value])]} />
    </details>
  );
}

/** Inputs takes what an earlier run began with. */
export function Inputs({ program, take }: { program: Program; take: (e: Earlier) => void }) {
  const found = useInputs(program.name, program.kind, true);
  if (!found.data?.length) return null;
  return (
    <Menu name="Earlier" label="Earlier inputs" icon={<History {...icon} />}>
      {(close) => (
        <ul className={css.earlier}>
          {found.data.map((e) => (
            <li key={e.thread}>
              <button
                type="button"
                onClick={() => {
                  take(e);
                  close();
                }}
              >
                <span>
                  <Said>{named(e.thread)}</Said> <Ago at={e.at} />
                </span>
                <Inline node={e.input} max={90} />
              </button>
            </li>
          ))}
        </ul>
      )}
    </Menu>
  );
}

/** Labels are rows of a name and a value. */
function Labels({ labels, set }: { labels: Label[]; set: (l: Label[]) => void }) {
  const change = (i: number, to: Partial<Label>) => set(labels.map((l, j) => (i === j ? { ...l, ...to } : l)));
  return (
    <>
      {labels.map((l, i) => (
        <div key={i} className={css.label}>
          <input
            aria-label="label"
            placeholder="label"
            maxLength={200}
            value={l.name}
            onChange={(e) => change(i, { name: e.target.value })}
          />
          <input
            aria-label="its value"
            placeholder="value"
            maxLength={200}
            value={l.value}
            onChange={(e) => change(i, { value: e.target.value })}
          />
          <button type="button" aria-label="remove the label" onClick={() => set(labels.filter((_, j) => j !== i))}>
            <X {...icon} />
          </button>
        </div>
      ))}
      {labels.length < 15 && (
        <Button tone="quiet" icon={<Plus {...icon} />} onClick={() => set([...labels, { name: "", value: "" }])}>
          Add a label
        </Button>
      )}
    </>
  );
}
