import { Fragment, type ReactNode } from "react";
import css from "./table.module.css";

export type Column = {
  name: string;
  /** head stands in the place of the name above the column, such as a scale. */
  head?: ReactNode;
  /** end columns are numbers and times: they stand at the right. */
  end?: boolean;
  /** grow columns take what the others leave, and are cut where they are longer. */
  grow?: boolean;
};

export type TableRow = {
  key: string;
  cells: ReactNode[];
  /** below is shown over the whole width, under the row. */
  below?: ReactNode;
};

/**
 * Table lists things of one kind, 36 pixels a row. On narrow screens the first cell has a line of its
 * own, and the others follow with their names. A cell that is undefined or empty is left out there.
 */
export const Table = ({ label, columns, rows }: { label: string; columns: Column[]; rows: TableRow[] }) => (
  <table className={css.table} aria-label={label}>
    <thead>
      <tr>
        {columns.map((c) => (
          <th key={c.name} scope="col" className={classOf(c)}>
            {c.head ?? (c.name || <span className="visually-hidden">actions</span>)}
          </th>
        ))}
      </tr>
    </thead>
    <tbody>
      {rows.map((r) => (
        <Fragment key={r.key}>
          <tr className={r.below ? css.opened : undefined}>
            {r.cells.map((cell, i) => (
              <td key={i} className={classOf(columns[i])} data-name={i === 0 ? undefined : columns[i]?.name}>
                {cell === undefined || cell === "" ? null : cell}
              </td>
            ))}
          </tr>
          {r.below && (
            <tr className={css.below}>
              <td colSpan={columns.length}>{r.below}</td>
            </tr>
          )}
        </Fragment>
      ))}
    </tbody>
  </table>
);

const classOf = (c: Column | undefined) =>
  [c?.end && css.end, c?.grow && css.grow, c?.name === "" && css.act].filter(Boolean).join(" ") || undefined;
