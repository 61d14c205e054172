import { useEffect, useRef, useState, type RefObject } from "react";
import { Link } from "wouter";
import type { Gate } from "../api/client";
import { useOutcome, wasHeard } from "../gate/decide";
import { Chip } from "../parts/chip";
import { Said } from "../parts/said";
import { Inline, Value } from "../parts/value";
import { marked } from "../text/hidden";
import { inline, onRecord, type Node } from "../text/json";
import { changesOf, licenseOf } from "../text/terms";
import { sumsOf } from "./sums";
import css from "./set.module.css";

type Column = { label: string; differs: boolean; sum: string | undefined; cell: (g: Gate) => Node };

type Cells = {
  columns: Column[];
  /** same are the values that all questions have. */
  same: { label: string; value: Node }[];
  /** total has all sums with their names, in a line. */
  total: string;
  box: RefObject<HTMLDivElement | null>;
  end: RefObject<HTMLDivElement | null>;
  /** cut says that columns at the right, or the last rows, were never on the screen; show goes there. */
  cut: boolean;
  show: () => void;
};

const nothing: Node = { kind: "text", source: "null" };

/** useCells returns what a table of questions shows: the columns that differ or have sums, and what is the same in all. */
export function useCells(gates: Gate[], summed: Gate[]): Cells {
  const fields = gates[0]?.binding ?? [];
  const cell = (i: number) => (g: Gate) => onRecord(g.binding[i]?.value) ?? nothing;
  const sumOf = (of: Gate[]) =>
    sumsOf(
      fields.map((f) => f.name),
      of.map((g) => fields.map((_, i) => inline(cell(i)(g)))),
    );
  const [sums, ever] = [sumOf(summed), sumOf(gates)];
  const all = fields.map((f, i): Column => {
    const differs = new Set(gates.map((g) => inline(cell(i)(g)))).size > 1;
    return { label: f.label, differs, sum: sums[i], cell: cell(i) };
  });
  const columns = all.filter((c, i) => c.differs || ever[i] !== undefined);
  const shown = columns.length > 0 ? columns : all;
  const first = gates[0];
  return {
    columns: shown,
    same: first ? all.flatMap((c) => (shown.includes(c) ? [] : [{ label: c.label, value: c.cell(first) }])) : [],
    total: all.flatMap((c) => (c.sum === undefined ? [] : [`${c.label} ${c.sum}`])).join(", "),
    ...useCut(),
  };
}

/** useCut says whether a box has something at its right, or at its end, that was never on the screen. */
function useCut() {
  const box = useRef<HTMLDivElement>(null);
  const end = useRef<HTMLDivElement>(null);
  const [wide, setWide] = useState(false);
  const [long, setLong] = useState(true);
  const seen = useRef(false);
  useEffect(() => {
    const at = box.current;
    if (!at || !end.current) return;
    const look = () => {
      const rest = at.scrollWidth - at.clientWidth - at.scrollLeft;
      if (rest < 4 && at.scrollLeft > 0) seen.current = true;
      setWide(rest >= 4 && !seen.current);
    };
    look();
    const sizes = new ResizeObserver(look);
    sizes.observe(at);
    const ends = new IntersectionObserver((e) => e.some((x) => x.isIntersecting) && setLong(false));
    ends.observe(end.current);
    at.addEventListener("scroll", look);
    return () => {
      sizes.disconnect();
      ends.disconnect();
      at.removeEventListener("scroll", look);
    };
  }, []);
  const show = () => {
    box.current?.scrollTo({ left: box.current.scrollWidth });
    end.current?.scrollIntoView({ block: "end" });
  };
  return { box, end, cut: wide || long, show };
}

type Props = {
  gates: Gate[];
  cells: Cells;
  address: (id: string) => string;
  /** state says in words what hinders a question. */
  state: (g: Gate) => string;
  on: (g: Gate) => boolean;
  flip: ((g: Gate) => void) | undefined;
  of: number;
};

/** SetTable shows a row a question, with its values exactly as they are on record. On a phone a row is a block. */
export const SetTable = ({ gates, cells, address, state, on, flip, of }: Props) => (
  <>
    {cells.same.length > 0 && (
      <dl className={css.same} aria-label="the same in all">
        {cells.same.map((s, i) => (
          <div key={i}>
            <dt>
              <Said>{s.label}</Said>
            </dt>
            <dd>
              <Value node={s.value} />
            </dd>
          </div>
        ))}
      </dl>
    )}
    <div ref={cells.box} className={css.wide} tabIndex={0} role="group" aria-label="questions">
      <table className={css.table}>
        <thead>
          <tr>
            <th scope="col">
              <span className="visually-hidden">chosen</span>
            </th>
            <th scope="col">thread</th>
            {cells.columns.map((c, i) => (
              <th key={i} scope="col">
                <Said>{c.label}</Said>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {gates.map((g) => (
            <tr key={g.id}>
              <td className={css.check}>
                <input
                  type="checkbox"
                  checked={on(g)}
                  disabled={!flip}
                  onChange={() => flip?.(g)}
                  aria-label={`decide ${marked(g.thread)}`}
                />
              </td>
              <td className={css.thread}>
                <Link href={address(g.id)}>
                  <Said>{g.thread}</Said>
                </Link>
                {termsOf(g).map((said) => (
                  <span key={said} className={css.state}>
                    <Said>{said}</Said>
                  </span>
                ))}
                <RowState id={g.id} state={state(g)} />
              </td>
              {cells.columns.map((c, i) => (
                <td
                  key={i}
                  data-label={marked(c.label)}
                  data-nests={c.cell(g).kind !== "text" || undefined}
                  className={c.differs ? css.differs : undefined}
                >
                  <Value node={c.cell(g)} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
        {cells.total && (
          <tfoot>
            <tr>
              <td />
              <th scope="row">sum of {of}</th>
              {cells.columns.map((c, i) => (
                <td key={i} data-label={marked(c.label)} className={c.sum === undefined ? css.none : undefined}>
                  {c.sum !== undefined && <Inline node={{ kind: "text", source: c.sum }} />}
                </td>
              ))}
            </tr>
          </tfoot>
        )}
      </table>
    </div>
    <div ref={cells.end} className={css.end} />
  </>
);

/** termsOf says what an approval of a row licenses, who else may decide it, and whose change it is. */
const termsOf = (g: Gate) =>
  [licenseOf(g), g.assignees?.length ? `asked of ${g.assignees.join(", ")}` : "", ...changesOf(g)].filter(Boolean);

/** RowState says what became of a question, or what hinders it. */
function RowState({ id, state }: { id: string; state: string }) {
  const outcome = useOutcome(id);
  if (!outcome)
    return state ? (
      <span className={css.state}>
        <Said>{state}</Said>
      </span>
    ) : null;
  if (outcome.step === "sending") return <span className={css.state}>sending</span>;
  if (outcome.step === "refused")
    return (
      <span className={`${css.state} ${css.bad}`} data-outcome="refused">
        <Said>{outcome.error instanceof Error ? outcome.error.message : String(outcome.error)}</Said>
        {!wasHeard(outcome.error) && " It is not known whether the decision arrived."}
      </span>
    );
  return (
    <span className={css.state} data-outcome={outcome.state}>
      <Chip state={outcome.state === "done" ? "decided" : outcome.state} />
    </span>
  );
}
