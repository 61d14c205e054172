import { useState } from "react";
import { excerpt, lines, middle, type Hunk, type Piece } from "../text/diff";
import { marked } from "../text/hidden";
import { Fold } from "./fold";
import { ambiguous, spoken } from "../text/spoken";
import css from "./texts.module.css";

const maxText = 2000;
const maxHunks = 200;

type Props = { a: string; b: string; sources: [string, string] };

/**
 * Texts shows two texts, and where they differ. Those of several lines are compared line by line. Of
 * long ones it shows the places that differ, with the size of what is left out.
 */
export function Texts({ a, b, sources }: Props) {
  const same = spoken(a) === spoken(b); // and their escapes differ
  const quoted = ambiguous(a) || ambiguous(b);
  const said = (text: string) => (quoted ? JSON.stringify(marked(text)) : marked(text));
  if (!same && a && b && (a.includes("\n") || b.includes("\n"))) return <Lines a={marked(a)} b={marked(b)} />;
  return <Pair a={same ? sources[0] : said(a)} b={same ? sources[1] : said(b)} />;
}

/** Pair shows two texts below each other, and marks what differs where much of them is equal. */
function Pair({ a, b }: { a: string; b: string }) {
  const [start, end] = middle(a, b);
  const like = start + end > Math.max(a.length, b.length) / 3;
  return (
    <span className={a.length + b.length < 56 ? css.beside : css.below}>
      <del className={css.del}>
        <Side text={a} start={start} end={end} mark={like} />
      </del>
      <ins className={css.ins}>
        <Side text={b} start={start} end={end} mark={like} />
      </ins>
    </span>
  );
}

const sized = (n: number) => `${n.toLocaleString("en")} characters`;

/** Side is one of two texts. Of a long one, the places that differ are shown, and all of it after a click. */
function Side({ text, start, end, mark }: { text: string; start: number; end: number; mark: boolean }) {
  const show = (pieces: Piece[]) => (
    <code className={css.text}>
      {pieces.map((p, i) =>
        "left" in p ? (
          <span key={i} className={css.left}>
            … {sized(p.left)} …
          </span>
        ) : p.differs && mark ? (
          <mark key={i} className={css.mark}>
            {p.text}
          </mark>
        ) : (
          p.text
        ),
      )}
    </code>
  );
  if (text.length <= maxText) return show(excerpt(text, start, end, Infinity));
  return (
    <Fold
      first={<>{show(excerpt(text, start, end, maxText))} </>}
      rest={() => show(excerpt(text, start, end, Infinity))}
      size={sized(text.length)}
    />
  );
}

/** Lines shows the lines of two texts that differ, with those around them. */
function Lines({ a, b }: { a: string; b: string }) {
  const hunks = lines(a, b);
  const show = (some: Hunk[]) =>
    some.map((h, i) => <Part key={i} hunk={h} first={i === 0} last={i === some.length - 1} />);
  return (
    <div className={css.lines}>
      {hunks.length <= maxHunks ? (
        show(hunks)
      ) : (
        <Fold
          first={show(hunks.slice(0, maxHunks))}
          rest={() => show(hunks)}
          size={`${hunks.length.toLocaleString("en")} places`}
        />
      )}
    </div>
  );
}

function Part({ hunk, first, last }: { hunk: Hunk; first: boolean; last: boolean }) {
  if (hunk.equal) return <Equal lines={hunk.equal} first={first} last={last} />;
  const paired = hunk.was.length === hunk.is.length;
  const rows = hunk.was.length + hunk.is.length > maxHunks ? 1 : 0;
  const ends = (i: number) => (paired ? middle(hunk.was[i] ?? "", hunk.is[i] ?? "") : ([0, 0] as const));
  const side = (list: string[], tone: string | undefined) => {
    const show = (some: string[]) =>
      some.map((text, i) => {
        const [start, end] = ends(i);
        return (
          <span key={i} className={`${css.row} ${tone}`}>
            {text ? (
              <Side text={text} start={start} end={end} mark={paired && start + end > 0} />
            ) : (
              <span className={css.left}>an empty line</span>
            )}
          </span>
        );
      });
    if (!rows || list.length <= maxHunks) return show(list);
    return (
      <Fold
        first={show(list.slice(0, maxHunks))}
        rest={() => show(list)}
        size={`${list.length.toLocaleString("en")} lines`}
      />
    );
  };
  return (
    <>
      {hunk.was.length > 0 && <del className={css.block}>{side(hunk.was, css.del)}</del>}
      {hunk.is.length > 0 && <ins className={css.block}>{side(hunk.is, css.ins)}</ins>}
    </>
  );
}

/** Equal shows one line of those that are equal beside each place, and the others after a click. */
function Equal({ lines, first, last }: { lines: string[]; first: boolean; last: boolean }) {
  const [open, setOpen] = useState(false);
  const before = first ? 0 : 1;
  const after = last ? 0 : 1;
  const inside = lines.length - before - after;
  const row = (text: string, i: number) => (
    <span key={i} className={`${css.row} ${css.same}`}>
      <Side text={text} start={text.length} end={0} mark={false} />
    </span>
  );
  if (open || inside <= 1) return <>{lines.map(row)}</>;
  return (
    <>
      {lines.slice(0, before).map(row)}
      <button type="button" className={css.equal} onClick={() => setOpen(true)}>
        {inside.toLocaleString("en")} equal lines
      </button>
      {lines.slice(lines.length - after).map(row)}
    </>
  );
}
