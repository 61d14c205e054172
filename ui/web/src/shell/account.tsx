import { Link } from "wouter";
import type { Schemas } from "../api/client";
import { leave } from "../data/query";
import { Said } from "../parts/said";
import { openPalette } from "./open";
import css from "./account.module.css";

const powers: Record<Schemas["MeBody"]["role"], string> = {
  viewer: "may read",
  approver: "may read and decide",
  operator: "may do everything",
  worker: "may handle tasks",
};

const close = () => document.getElementById("account")?.hidePopover();

/** Account says who is logged in, and leads to what each person chooses. */
export const Account = ({ me, keys }: { me: Schemas["MeBody"]; keys: () => void }) => (
  <div id="account" popover="auto" className={css.account}>
    <p className={css.name}>
      <strong>
        <Said>{me.name}</Said>
      </strong>
      <span>
        {me.role}: {powers[me.role]}
      </span>
    </p>
    <Link href="/settings" className={css.link} onClick={close}>
      Settings
    </Link>
    <button type="button" className={css.link} onClick={() => openPalette()} popoverTarget="account">
      Go to
    </button>
    <button type="button" className={css.link} onClick={keys} popoverTarget="account">
      Keys
    </button>
    <form method="post" action="/logout" onSubmit={leave}>
      <button className={css.link}>Log out</button>
    </form>
  </div>
);
