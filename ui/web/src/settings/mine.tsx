import { useState, type ReactNode } from "react";
import { Link } from "wouter";
import { now, off as ahead } from "../api/clock";
import { api, get, type Schemas } from "../api/client";
import { useSnoozed } from "../data/settings";
import { queries } from "../data/query";
import { Button } from "../parts/button";
import { Card } from "../parts/card";
import { named } from "../parts/id";
import { Failure } from "../parts/notice";
import { Said } from "../parts/said";
import { Table } from "../parts/table";
import { exact, length, utc } from "../parts/time";
import { keysOff } from "../shell/keys";
import { setTheme, theme, type Theme } from "../shell/theme";
import { Substitutes } from "./substitutes";
import css from "./settings.module.css";

/** Mine is what a person chooses: for this browser, and for their own inbox. */
export function Mine({ me }: { me: Schemas["MeBody"] }) {
  return (
    <div className={css.column}>
      <Browser />
      {me.role !== "viewer" && me.role !== "worker" && (
        <>
          <Substitutes me={me.name} />
          <Snoozes />
        </>
      )}
    </div>
  );
}

/** clocks says what time it is, and how far off the clock of this device is where people would notice. */
function clocks(): string {
  const off = ahead();
  const is = `Now is ${exact(new Date(now()).toISOString())}, by the clock of the server.`;
  return Math.abs(off) < 30_000
    ? is
    : `${is} The clock of this device is ${length(off)} ${off > 0 ? "ahead" : "behind"}.`;
}

const Line = ({ name, says, children }: { name: string; says: ReactNode; children: ReactNode }) => (
  <div className={css.setting}>
    <div>
      <h3>{name}</h3>
      <p>{says}</p>
    </div>
    <div className={css.choice}>{children}</div>
  </div>
);

function Choice<T extends string>({
  label,
  value,
  options,
  choose,
}: {
  label: string;
  value: T;
  options: readonly (readonly [T, string])[];
  choose: (to: T) => void;
}) {
  return (
    <fieldset className={css.segments}>
      <legend className="visually-hidden">{label}</legend>
      {options.map(([of, name]) => (
        <label key={of} className={of === value ? css.on : undefined}>
          <input
            type="radio"
            className="visually-hidden"
            name={label}
            checked={of === value}
            onChange={() => choose(of)}
          />
          {name}
        </label>
      ))}
    </fieldset>
  );
}

/** keep writes a choice of this browser. Times and keys are read anew with the page. */
const keep = (name: string, value: string | undefined) => {
  if (value) localStorage.setItem(name, value);
  else localStorage.removeItem(name);
  location.reload();
};

function Browser() {
  const [chosen, choose] = useState<Theme>(theme());
  return (
    <Card title="This browser" also="kept here, and sent nowhere" label="this browser">
      <Line name="Theme" says="Light, dark, or as the system has it.">
        <Choice
          label="theme"
          value={chosen}
          options={
            [
              ["system", "System"],
              ["light", "Light"],
              ["dark", "Dark"],
            ] as const
          }
          choose={(t) => {
            setTheme(t);
            choose(t);
          }}
        />
      </Line>
      <Line name="Times" says={clocks()}>
        <Choice
          label="times"
          value={utc() ? "utc" : "local"}
          options={
            [
              ["local", "Local"],
              ["utc", "UTC"],
            ] as const
          }
          choose={(to) => keep("utc", to === "utc" ? "yes" : undefined)}
        />
      </Line>
      <Line name="Single keys" says="a, r, e and others in the inbox. Ctrl K works either way.">
        <Choice
          label="single keys"
          value={keysOff() ? "off" : "on"}
          options={
            [
              ["on", "On"],
              ["off", "Off"],
            ] as const
          }
          choose={(to) => keep("keys", to === "off" ? "off" : undefined)}
        />
      </Line>
    </Card>
  );
}

/** Snoozes lists what a person hid from their inbox, and has it back. */
function Snoozes() {
  const list = useSnoozed();
  const [error, setError] = useState<unknown>();
  const back = (id: string) => {
    setError(undefined);
    get(api.DELETE("/api/gates/{id}/snooze", { params: { path: { id } } }))
      .then(() => queries.invalidateQueries({ queryKey: ["live"] }))
      .catch(setError);
  };
  const gates = list.data?.items ?? [];
  return (
    <Card title="Snoozed" also={gates.length > 0 && `${gates.length}${list.data?.next ? "+" : ""}`} label="snoozed">
      {(list.error || error !== undefined) && <Failure error={list.error ?? error} />}
      {gates.length === 0 ? (
        <p className={css.quiet}>
          Nothing is hidden from your inbox. There, h hides a question for a while: it moves no deadline, and others see
          it all the same.
        </p>
      ) : (
        <Table
          label="snoozed questions"
          columns={[
            { name: "Question", grow: true },
            { name: "Thread" },
            { name: "Back", end: true },
            { name: "", end: true },
          ]}
          rows={gates.map((g) => ({
            key: g.id,
            cells: [
              <Link key="q" href={`/gates/${encodeURIComponent(g.id)}`}>
                <Said>{g.intent}</Said>
              </Link>,
              <Said key="thread">{named(g.thread)}</Said>,
              g.snoozedUntil ? exact(g.snoozedUntil) : "",
              <Button
                key="back"
                className={css.small}
                onClick={() => back(g.id)}
                aria-label={`have it back: ${g.intent}`}
              >
                Have it back
              </Button>,
            ],
          }))}
        />
      )}
    </Card>
  );
}
