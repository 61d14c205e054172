import { CircleHelp, ShieldAlert, ShieldCheck } from "lucide-react";
import { Id } from "./id";
import { Said } from "./said";
import type { Verdict as Found } from "../text/proof";
import css from "./verdict.module.css";

const icon = { size: 16, strokeWidth: 1.5, "aria-hidden": true } as const;

const left = (what: string | undefined) => what && <> But {what}.</>;

/** Verdict says what the check of an entry in this browser found. */
export function Verdict({ found, seq }: { found: Found | undefined; seq: number }) {
  if (!found) return <p className={css.verdict}>checking…</p>;
  switch (found.kind) {
    case "sound":
      return (
        <p className={`${css.verdict} ${css.sound}`} role="status">
          <ShieldCheck {...icon} />
          <span>
            <strong>Verified in this browser.</strong> The bytes of #{seq} have the hash on record, and{" "}
            {found.by === seq ? "it is" : `#${found.by}, which covers it, is`} signed by <Id>{found.key}</Id>
            {found.pinned && ", a key pinned here"}.{left(found.left)}
          </span>
        </p>
      );
    case "unsigned":
      return (
        <p className={css.verdict} role="status">
          <CircleHelp {...icon} />
          <span>
            <strong>The hash is right, no signature yet.</strong> The next signed entry of the thread covers #{seq},
            too.{left(found.left)}
          </span>
        </p>
      );
    case "broken":
      return (
        <p className={`${css.verdict} ${css.broken}`} role="alert">
          <ShieldAlert {...icon} />
          <span>
            <strong>This is not what was written:</strong> <Said>{found.why}</Said>. Keep a copy of the store, and run{" "}
            <code>posthouse verify</code>.
          </span>
        </p>
      );
    case "unchecked":
      return (
        <p className={css.verdict} role="status">
          <CircleHelp {...icon} />
          <span>
            <strong>Not verified here:</strong> <Said>{found.why}</Said>. <code>posthouse verify</code> does it
            anywhere.
          </span>
        </p>
      );
  }
}
