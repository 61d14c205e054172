import { Link } from "wouter";
import { named } from "../parts/id";
import { Said } from "../parts/said";
import { groups } from "../text/groups";
import { threadPath } from "../thread/address";
import type { Item } from "./bulk";
import { reasonOf } from "./served";
import css from "./bulk-dialog.module.css";

const few = 3; // threads shown of each reason
const most = 100; // reasons shown

/** Refusals lists why nothing was done to threads, each reason once, with how many it is true of. */
export function Refusals({ items, title }: { items: Item[]; title: string }) {
  if (items.length === 0) return null;
  const by = groups(items, (i) => reasonOf(i.thread, i.problem?.detail ?? ""));
  return (
    <section className={css.refused} aria-label={title}>
      <h3>
        {title}, {items.length.toLocaleString("en")}
      </h3>
      <ul tabIndex={0}>
        {by.slice(0, most).map(({ key, items: of }) => (
          <li key={key}>
            <div>
              {of.slice(0, few).map((i) => (
                <div key={i.thread}>
                  <Link href={threadPath(i.thread)}>
                    <Said>{named(i.thread)}</Said>
                  </Link>
                </div>
              ))}
              {of.length > few && <span>and {(of.length - few).toLocaleString("en")} others</span>}
            </div>
            <span>
              <Said>{of.length === 1 ? of[0]?.problem?.detail : key}</Said>
            </span>
          </li>
        ))}
        {by.length > most && <li>and {(by.length - most).toLocaleString("en")} other reasons</li>}
      </ul>
    </section>
  );
}
