import { Check } from "lucide-react";
import { Link } from "wouter";
import type { Act } from "../data/proof";
import { named } from "../parts/id";
import { Said } from "../parts/said";
import { marked } from "../text/hidden";
import { quoted, runtime } from "../text/quoted";
import { strangerOf } from "./came";
import css from "./proof.module.css";

/** isAccess says whether an act is of the thread of logins and tokens, which has no page of its own. */
const isAccess = (a: Act) => a.thread.startsWith("$");

/** Who did it: a name that leads to all that they did. */
export function Who({ act, href, pick }: { act: Act; href: (name: string) => string; pick: (name: string) => void }) {
  const stranger = strangerOf(act);
  if (!act.by) return <span className={css.faint}>{stranger ?? "the program"}</span>;
  const { by } = act;
  return (
    <>
      <Link href={href(by)} onClick={() => pick(by)}>
        <Said>{by}</Said>
      </Link>
      {act.actor && act.actor !== by && (
        <span className={css.faint}>
          {" "}
          by <Said>{act.actor}</Said>
        </span>
      )}
    </>
  );
}

/** because says why: in quotation marks what a person wrote, in brackets the runtime's own words. */
const because = (by: string | undefined, reason: string) => (by === runtime ? `(${reason})` : quoted(by, reason));

/** What an act was about, in words, with a link to the question and with why. */
export function What({ act }: { act: Act }) {
  const { what = "", gate, copyOf } = act;
  const reason = act.reason && because(act.by, act.reason);
  const whole = [what, reason, copyOf && `copied from ${copyOf}`].filter(Boolean).join(" ");
  return (
    <span title={marked(whole)}>
      {gate ? (
        <Link href={`/gates/${encodeURIComponent(gate)}`}>
          <Said>{what}</Said>
        </Link>
      ) : (
        <Said>{what}</Said>
      )}
      {reason && (
        <>
          {" "}
          <Said>{reason}</Said>
        </>
      )}
      {copyOf && (
        <span className={css.faint}>
          {" "}
          copied from <Said>{named(copyOf)}</Said>
        </span>
      )}
    </span>
  );
}

/** Place is where an act is on record. */
export function Place({ act }: { act: Act }) {
  const shown = <Said>{`${named(act.thread)} #${act.seq}`}</Said>;
  if (isAccess(act)) return shown;
  return <Link href={`/threads/${encodeURIComponent(act.thread)}`}>{shown}</Link>;
}

const coverages: Record<string, { word: (a: Act) => string; says: string }> = {
  signed: { word: () => "signed", says: "The entry has a signature of its own." },
  covered: {
    word: (a) => `by #${a.coveredBy}`,
    says: "The signature of this later entry of the thread covers it: each entry holds the hash of the one before.",
  },
  none: {
    word: () => "no",
    says: "No signature came after it. That of a later entry of the thread would cover it; a thread that has ended may get none.",
  },
};
const unsure = { word: () => "not known", says: "There is no signature among the 20,000 entries after it." };

/** Signed says which signature covers an act. Whether it is valid is said by a verification. */
export function Signed({ act }: { act: Act }) {
  const { word, says } = coverages[act.coverage] ?? unsure;
  const sure = act.coverage === "signed" || act.coverage === "covered";
  return (
    <span className={sure ? css.signed : css.faint} title={`${says} A verification says whether signatures are valid.`}>
      {sure && <Check size={14} strokeWidth={1.75} aria-hidden />}
      {word(act)}
    </span>
  );
}
