import { FileX2, KeyRound, Binary as Bits, TriangleAlert } from "lucide-react";
import { Problem } from "../api/client";
import { unreadOf, type Unread } from "../text/unread";
import { Failure } from "./notice";
import { Said } from "./said";
import css from "./unread.module.css";

const icons: Record<string, typeof KeyRound> = {
  encrypted: KeyRound,
  removed: FileX2,
  damaged: TriangleAlert,
  binary: Bits,
};

/** Unreadable stands in the place of what cannot be read: a word, why, and who could read it. */
export function Unreadable({ of }: { of: Unread }) {
  const Icon = icons[of.word] ?? TriangleAlert;
  return (
    <div className={css.unread} role="note">
      <Icon size={16} strokeWidth={1.5} aria-hidden />
      <p>
        <strong>{of.word}</strong> <Said>{of.why}</Said> <span>{of.who}</span>
      </p>
    </div>
  );
}

/** WhyUnread says why a read failed: what is encrypted, removed or damaged in its words, all else as a [Failure]. */
export function WhyUnread({ error, safe }: { error: unknown; safe?: string }) {
  const of = error instanceof Problem ? unreadOf(error.body) : undefined;
  return of ? <Unreadable of={of} /> : <Failure error={error} {...(safe ? { safe } : {})} />;
}
