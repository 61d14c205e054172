import { AlarmClock } from "lucide-react";
import { useEffect, useRef, useState, type KeyboardEvent } from "react";
import { api, get, type Gate } from "../api/client";
import { now } from "../api/clock";
import { queries } from "../data/query";
import { Button } from "../parts/button";
import { Failure } from "../parts/notice";
import { exact } from "../parts/time";
import { choices, type Choice } from "./moments";
import { note } from "./snoozed";
import css from "./snooze.module.css";

/** Snooze asks until when a question is hidden. It moves no deadline and no right. */
export function Snooze({ gate, close }: { gate: Gate; close: () => void }) {
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const first = useRef<HTMLDivElement>(null);
  useEffect(() => first.current?.querySelector("button")?.focus(), []);
  const params = { path: { id: gate.id } };
  const send = async (c: Choice) => {
    setBusy(true);
    try {
      const body = c.at ? { until: c.at.toISOString() } : {};
      const is = await get(api.POST("/api/gates/{id}/snooze", { params, body }));
      note(gate.id, is.snoozedUntil);
      close();
      await queries.invalidateQueries({ queryKey: ["live"] });
    } catch (e) {
      setError(e);
      setBusy(false);
    }
  };
  const press = (e: KeyboardEvent) => {
    if (e.key !== "Escape") return;
    e.preventDefault();
    close();
  };
  const offered = choices(gate, new Date(now()));
  return (
    <div ref={first} className={css.snooze} role="group" aria-label="snooze until" onKeyDown={press}>
      <p>
        <AlarmClock size={16} strokeWidth={1.5} aria-hidden /> Hide it from your inbox for
        <span> its deadline stays, and others see it</span>
      </p>
      {error !== undefined && <Failure error={error} safe="It is where it was." />}
      <div className={css.choices}>
        {offered.map((c) => (
          <Button key={c.name} disabled={busy} title={c.at && exact(c.at.toISOString())} onClick={() => void send(c)}>
            {c.name}
          </Button>
        ))}
        {offered.length === 0 && <span>Its deadline is within the hour.</span>}
        <Button tone="quiet" hint="Esc" onClick={close}>
          Back
        </Button>
      </div>
    </div>
  );
}

/** Back says when a snoozed question comes back, and has it back now. */
export function Back({ gate, at }: { gate: Gate; at: string }) {
  const [error, setError] = useState<unknown>();
  const back = async () => {
    try {
      await get(api.DELETE("/api/gates/{id}/snooze", { params: { path: { id: gate.id } } }));
      note(gate.id, undefined);
      await queries.invalidateQueries({ queryKey: ["live"] });
    } catch (e) {
      setError(e);
    }
  };
  return (
    <div className={css.back} role="status">
      <AlarmClock size={14} strokeWidth={1.5} aria-hidden />
      <span>Snoozed: it is back in your inbox at {exact(at)}.</span>
      <Button tone="quiet" onClick={() => void back()}>
        Have it back
      </Button>
      {error !== undefined && <Failure error={error} />}
    </div>
  );
}
