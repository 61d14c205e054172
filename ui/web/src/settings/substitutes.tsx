import { useRef, useState } from "react";
import { api, get } from "../api/client";
import { now } from "../api/clock";
import { useSubstitutes, type Substitution } from "../data/settings";
import { queries } from "../data/query";
import { Button } from "../parts/button";
import { Card } from "../parts/card";
import { later } from "../parts/later";
import { Failure } from "../parts/notice";
import { Hidden, Said } from "../parts/said";
import { Table } from "../parts/table";
import { exact } from "../parts/time";
import css from "./settings.module.css";

const ChoosePerson = later(async () => (await import("../parts/choose-person")).ChoosePerson);

const again = () => queries.invalidateQueries({ queryKey: ["substitutes"] });

/** Substitutes says who decides in one's place while one is away, and for whom one stands in. */
export function Substitutes({ me }: { me: string }) {
  const list = useSubstitutes();
  const [error, setError] = useState<unknown>();
  const act = (send: () => Promise<unknown>) => {
    setError(undefined);
    return send().then(again).catch(setError);
  };
  const all = list.data ?? [];
  const row = (s: Substitution) => ({
    key: s.id,
    cells: [
      s.by === me ? (
        <>
          <Said>{s.to}</Said> for you
        </>
      ) : (
        <>
          you for <Said>{s.by}</Said>
        </>
      ),
      Date.parse(s.from) > now() ? exact(s.from) : "now",
      exact(s.until),
      s.reason && <Said>{s.reason}</Said>,
      <Button
        key="end"
        tone="danger"
        className={css.small}
        onClick={() => void act(() => get(api.DELETE("/api/substitutes/{id}", { params: { path: { id: s.id } } })))}
      >
        Withdraw
      </Button>,
    ],
  });
  return (
    <Card title="My substitute" label="my substitute">
      {(list.error || error !== undefined) && <Failure error={list.error ?? error} safe="Nothing was changed." />}
      {all.length > 0 && (
        <Table
          label="substitutes"
          columns={[
            { name: "Who" },
            { name: "From" },
            { name: "Until" },
            { name: "Why", grow: true },
            { name: "", end: true },
          ]}
          rows={all.map(row)}
        />
      )}
      <Name act={act} />
    </Card>
  );
}

/** local writes a moment as a field of the browser takes it. */
const local = (d: Date) => new Date(d.getTime() - d.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);

function Name({ act }: { act: (send: () => Promise<unknown>) => Promise<unknown> }) {
  const [to, setTo] = useState("");
  const [until, setUntil] = useState(local(new Date(now() + 7 * 86_400_000)));
  const [reason, setReason] = useState("");
  const [busy, setBusy] = useState(false);
  const [lacks, setLacks] = useState("");
  const judge = useRef<() => string>(undefined);
  const submit = async () => {
    setBusy(true);
    const body = { to: to.trim(), until: new Date(until).toISOString(), ...(reason ? { reason } : {}) };
    await act(() => get(api.POST("/api/substitutes", { body })).then(() => setTo("")));
    setBusy(false);
  };
  return (
    <form
      className={css.form}
      aria-label="name a substitute"
      onSubmit={(e) => {
        e.preventDefault();
        const found = judge.current?.() ?? "The names are not there yet.";
        setLacks(found);
        if (!found) void submit();
      }}
    >
      <p className={css.says}>
        What is asked of you may then be decided by them, in your place and on record as such. They have no right that
        you have not.
      </p>
      <div className={css.fields}>
        <div className={css.who}>
          <span aria-hidden>Who</span>
          <ChoosePerson
            label="Who"
            value={to}
            set={(name) => {
              setTo(name);
              setLacks("");
            }}
            judge={judge}
            risk="If there is no such person, what is asked of you waits while you are away."
          />
        </div>
        <label>
          Until
          <input required type="datetime-local" value={until} onChange={(e) => setUntil(e.target.value)} />
        </label>
        <label className={css.wide}>
          Why
          <input maxLength={500} autoComplete="off" value={reason} onChange={(e) => setReason(e.target.value)} />
        </label>
        <Button type="submit" disabled={busy || to.trim() === "" || until === ""}>
          Name a substitute
        </Button>
      </div>
      {lacks && (
        <p className={css.bad} role="alert">
          <Said>{lacks}</Said>
        </p>
      )}
      <Hidden texts={[to, reason]} />
    </form>
  );
}
