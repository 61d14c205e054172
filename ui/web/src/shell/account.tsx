import { useState } from "react";
import type { Schemas } from "../api/client";
import { Said } from "../parts/said";
import { utc } from "../parts/time";
import { keysOff } from "./keys";
import { setTheme, theme, type Theme } from "./theme";
import css from "./account.module.css";

const powers: Record<Schemas["MeBody"]["role"], string> = {
  viewer: "may read",
  approver: "may read and decide",
  operator: "may do everything",
  worker: "may handle tasks",
};

/** Account says who is logged in, and has what each person chooses for this browser. */
export function Account({ me, keys }: { me: Schemas["MeBody"]; keys: () => void }) {
  const [chosen, choose] = useState<Theme>(theme());
  const flip = (name: string, value: string) => {
    if (localStorage.getItem(name) === value) localStorage.removeItem(name);
    else localStorage.setItem(name, value);
    location.reload();
  };
  return (
    <div id="account" popover="auto" className={css.account}>
      <p className={css.name}>
        <strong>
          <Said>{me.name}</Said>
        </strong>
        <span>
          {me.role}: {powers[me.role]}
        </span>
      </p>
      <fieldset className={css.themes}>
        <legend>Theme</legend>
        {(["system", "light", "dark"] as const).map((t) => (
          <label key={t}>
            <input
              type="radio"
              name="theme"
              checked={chosen === t}
              onChange={() => {
                setTheme(t);
                choose(t);
              }}
            />
            {t}
          </label>
        ))}
      </fieldset>
      <label className={css.line}>
        <input type="checkbox" checked={utc()} onChange={() => flip("utc", "yes")} />
        times in UTC
      </label>
      <label className={css.line}>
        <input type="checkbox" checked={!keysOff()} onChange={() => flip("keys", "off")} />
        single keys
      </label>
      <button type="button" className={css.link} onClick={keys} popoverTarget="account">
        Keys
      </button>
      <form method="post" action="/logout">
        <button className={css.link}>Log out</button>
      </form>
    </div>
  );
}
