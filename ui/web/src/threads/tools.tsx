import { Bookmark, Columns3, FileUp, Filter as FilterIcon, Trash2 } from "lucide-react";
import { useRef, useState } from "react";
import { Link, useLocation } from "wouter";
import { useMe } from "../data/me";
import { usePrograms } from "../data/threads";
import { Button } from "../parts/button";
import { Menu } from "../parts/menu";
import { Said } from "../parts/said";
import { columns, usual as usualColumns } from "./columns";
import { addressOf, filterOf, isNarrow, labelFault, typed, type Filter } from "./filter";
import { useColumns, useViews } from "./kept";
import css from "./narrow.module.css";

const icon = { size: 14, strokeWidth: 1.5, "aria-hidden": true } as const;

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
  const me = useMe();
  const [label, setLabel] = useState(filter.label ?? "");
  const [program, setProgram] = useState(filter.program ?? "");
  const [by, setBy] = useState(filter.by ?? "");
  const [since, setSince] = useState(filter.since ?? "");
  const [until, setUntil] = useState(filter.until ?? "");
  const [fault, setFault] = useState("");
  const field = useRef<HTMLInputElement>(null);
  const served = [
    ...new Set([...(programs.data ?? []).map((p) => p.name), ...(filter.program ? [filter.program] : [])]),
  ];
  return (
    <form
      className={css.form}
      onSubmit={(e) => {
        e.preventDefault();
        const wrong = labelFault(label);
        setFault(wrong);
        if (wrong) return field.current?.focus();
        close();
        const to = { program, label: typed(label).label ?? "", by: by.trim(), since, until };
        go(addressOf({ ...filter, ...to }), { replace: true });
      }}
    >
      <label>
        Program
        <select value={program} onChange={(e) => setProgram(e.target.value)}>
          <option value="">all</option>
          {served.map((p) => (
            <option key={p}>{p}</option>
          ))}
        </select>
      </label>
      <label>
        Label
        <input
          ref={field}
          placeholder="customer=C-450"
          maxLength={400}
          value={label}
          aria-invalid={fault !== ""}
          aria-describedby={fault ? "label-fault" : undefined}
          onChange={(e) => {
            setLabel(e.target.value);
            setFault("");
          }}
        />
        {fault && (
          <span id="label-fault" className={css.fault} role="alert">
            <Said>{fault}</Said>
          </span>
        )}
      </label>
      <label>
        Started by
        <input
          placeholder={me.data?.name ?? "a name"}
          autoComplete="off"
          maxLength={200}
          value={by}
          onChange={(e) => setBy(e.target.value)}
        />
      </label>
      <fieldset className={css.days}>
        <legend>Started</legend>
        <input
          type="date"
          aria-label="started on this day or later"
          value={since}
          max={until || undefined}
          onChange={(e) => setSince(e.target.value)}
        />
        <span>to</span>
        <input
          type="date"
          aria-label="started on this day or before"
          value={until}
          min={since || undefined}
          onChange={(e) => setUntil(e.target.value)}
        />
      </fieldset>
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
