import { ChevronRight } from "lucide-react";
import { memo } from "react";
import { useStory } from "../data/checkpoints";
import { Chip } from "../parts/chip";
import { Said } from "../parts/said";
import { At, exact, length, useSeconds } from "../parts/time";
import type { Schemas } from "../api/client";
import { marked } from "../text/hidden";
import type { Item } from "./items";
import { Lane, Lines, Stub } from "./lane";
import type { Slice } from "./lanes";
import { nameOf, retriedOf, stepOf, tagOf, tookOf, wordsOf } from "./tell";
import css from "./row.module.css";

type Props = {
  item: Item;
  slice: Slice;
  chosen: string;
  rest: number;
  wide: number;
  on: boolean;
  pinned: boolean;
  fresh: boolean;
  open: boolean;
  /** The status of the branch whose head this row is. */
  head: string | undefined;
  named: boolean;
  owner: string | undefined;
  href: string;
  file: boolean | undefined;
  look: (item: Item) => void;
  toggle: (item: Item) => void;
};

/** ThreadRow is one checkpoint: its lane, its entry, what it is about, and how long it took. */
export const ThreadRow = memo(function ThreadRow(p: Props) {
  const { item, slice } = p;
  const { row } = item;
  const tag = tagOf(item, p.head);
  const retried = retriedOf(item);
  const foldable = item.count > 1;
  return (
    <>
      <Lane item={item} slice={slice} chosen={p.chosen} rest={p.rest} head={p.head} />
      {item.foreign !== undefined && <Stub item={item} lane={slice.lane} />}
      <a
        href={p.href}
        className={`${css.row} ${p.on ? css.on : ""} ${p.fresh ? css.fresh : ""} ${slice.track.left ? css.left : ""}`}
        style={{ paddingLeft: p.wide }}
        aria-current={p.on ? "true" : undefined}
        onClick={(e) => {
          if (e.metaKey || e.ctrlKey || e.shiftKey || e.button !== 0) return;
          e.preventDefault();
          if (foldable) p.toggle(item);
          else p.look(item);
        }}
      >
        <span className={css.seq}>{item.now ? "" : `#${row.seq}`}</span>
        <span className={css.text}>
          {p.pinned && <span className={css.pin}>A</span>}
          {p.named && (
            <span className={row.branch === "main" ? css.main : css.branch}>
              <Said>{row.branch}</Said>
            </span>
          )}
          <span className={css.name}>
            <Said>{item.now ? (row.next ?? []).join(", ") : nameOf(row)}</Said>
            {foldable && <span className={css.count}> × {item.count}</span>}
          </span>{" "}
          <span className={css.words}>
            {item.now ? (
              <Runs since={item.since ?? row.at} last={row.at} owner={p.owner} />
            ) : foldable ? (
              <>
                <At at={item.since ?? row.at} /> to <At at={row.at} />, show all
              </>
            ) : (
              <Said>{wordsOf(item)}</Said>
            )}
          </span>
        </span>
        <span className={css.tag}>
          {retried && (
            <span title={marked(retried.title)}>
              <Chip state="retried" times={retried.times} small={tag !== undefined} />
            </span>
          )}
          {tag && !foldable && <Chip {...tag} />}
        </span>
        <span className={css.took} title={item.since ? `${exact(item.since)} to ${exact(row.at)}` : exact(row.at)}>
          {!item.now && tookOf(item)}
        </span>
      </a>
      {!item.now && !foldable && !p.file && (
        <button
          type="button"
          className={css.open}
          aria-expanded={p.open}
          aria-label={`steps of #${row.seq}`}
          onClick={() => p.toggle(item)}
        >
          <ChevronRight size={14} strokeWidth={1.75} aria-hidden />
        </button>
      )}
      {p.open && (
        <>
          <Lines slice={slice} chosen={p.chosen} />
          <Steps id={row.id} left={p.wide + 52} />
        </>
      )}
    </>
  );
});

/** Runs says for how long a branch has gone on without a wait, when it last put something on record, and where it runs. */
function Runs({ since, last, owner }: { since: string; last: string; owner: string | undefined }) {
  const now = useSeconds();
  const ago = Math.max(0, now - Date.parse(last));
  return (
    <>
      runs for {length(Math.max(1000, now - Date.parse(since)))}, last entry{" "}
      {ago < 1000 ? "just now" : `${Math.floor(ago / 1000) < 60 ? `${Math.floor(ago / 1000)} s` : length(ago)} ago`}
      {owner && (
        <>
          {" "}
          on <Said>{owner}</Said>
        </>
      )}
    </>
  );
}

/** Steps lists what is on record of a row's steps and attempts. */
function Steps({ id, left }: { id: string; left: number }) {
  const steps = useStory(id);
  const style = { paddingLeft: left };
  if (steps.isPending)
    return (
      <p className={css.none} style={style}>
        Loading
      </p>
    );
  const told = (steps.data?.steps ?? []).filter((s) => s.step || s.checkpoint);
  if (told.length === 0)
    return (
      <p className={css.none} style={style}>
        {steps.error ? "What is on record of its steps cannot be read now." : "No steps are on record here."}
      </p>
    );
  return (
    <ol className={css.steps} style={style}>
      {told.map((s, i) => (
        <StepLine key={i} event={s} />
      ))}
    </ol>
  );
}

function StepLine({ event }: { event: Schemas["PosthouseEvent"] }) {
  const s = event.step;
  const c = event.checkpoint;
  const began = s?.beganAt ?? c?.beganAt;
  const attempts = s?.attempts ?? c?.attempts ?? 0;
  const line = event.notes?.findLast((n) => n.line)?.line;
  const failed = /(^|>)\$attempt$/.test(s?.name ?? "");
  const why = event.lastError && `${failed ? "" : "last error: "}${event.lastError}`;
  const told = stepOf(s?.name ?? "");
  const name = s
    ? (told.name || s.task.slice(s.task.indexOf("/") + 1)) + (s.occurrence ? ` [${s.occurrence + 1}]` : "")
    : c?.node || c?.agentName || "";
  const effect = s?.effect && s.effect !== "pure" && !told.words ? s.effect : "";
  return (
    <li>
      <span className={css.step}>
        <span className={css.name} title={marked(s?.name ?? "")}>
          <Said>{name}</Said>
        </span>{" "}
        <span className={css.words}>
          <Said>{[told.words, effect, line ?? "", why ?? ""].filter(Boolean).join(", ")}</Said>
        </span>
      </span>
      <span className={css.took}>
        {attempts > 1 && !failed && `${attempts} attempts, `}
        {began && length(Math.max(0, Date.parse(event.at) - Date.parse(began)))}
      </span>
    </li>
  );
}
