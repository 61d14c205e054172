import { keysOff } from "../shell/keys";
import css from "./key.module.css";

/** Key shows a key of the keyboard. A single letter is not shown where a person turned those off. */
export const Key = ({ children }: { children: string }) =>
  /^[a-z]$/.test(children) && keysOff() ? null : <kbd className={css.key}>{children}</kbd>;
