import { Check, Copy } from "lucide-react";
import { useState } from "react";
import { marked } from "../text/hidden";
import css from "./id.module.css";

/** short shortens an id in the middle, as the command line does. It takes it back so. */
export const short = (id: string) =>
  id.length > 20 ? `${id.slice(0, id.startsWith("gate-") ? 9 : 4)}…${id.slice(-4)}` : id;

/** named returns a thread's name, shortened where it is an id that nobody chose. */
export const named = (thread: string) => (/^[0-9a-f]{8}-[0-9a-f-]{27}$/.test(thread) ? short(thread) : thread);

/** Id shows an id shortened in the middle. It is whole on hover, and a click copies it. */
export function Id({ children, whole }: { children: string; whole?: boolean }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard?.writeText(children);
    setCopied(true);
    setTimeout(() => setCopied(false), 1500);
  };
  return (
    <button type="button" className={css.id} title={`${marked(children)}: copy`} onClick={copy}>
      {marked(whole ? children : short(children))}
      {copied ? <Check size={12} aria-label="copied" /> : <Copy size={12} className={css.icon} aria-hidden />}
    </button>
  );
}
