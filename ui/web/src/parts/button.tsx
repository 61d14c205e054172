import type { ComponentProps, ReactNode } from "react";
import { Key } from "./key";
import css from "./button.module.css";

type Tone = "plain" | "go" | "strong" | "danger" | "quiet";

type Props = ComponentProps<"button"> & {
  tone?: Tone;
  icon?: ReactNode;
  /** The key that does the same, as people read it. */
  hint?: string;
};

/** Button does one thing at once. Only Approve is green. */
export function Button({ tone = "plain", icon, hint, children, className = "", ...rest }: Props) {
  return (
    <button type="button" {...rest} className={`${css.button} ${css[tone]} ${className}`}>
      {icon}
      <span className={css.label}>{children}</span>
      {hint && <Key>{hint}</Key>}
    </button>
  );
}
