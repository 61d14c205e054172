import css from "./key.module.css";

/** Key shows a key of the keyboard. */
export const Key = ({ children }: { children: string }) => <kbd className={css.key}>{children}</kbd>;
