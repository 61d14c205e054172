import { createContext, useContext } from "react";
import { marked } from "../text/hidden";
import type { Node } from "../text/json";
import { inline } from "../text/json";
import { spoken } from "../text/spoken";
import { Fold, useFlat } from "./fold";
import css from "./value.module.css";

const maxRows = 12;
const maxText = 2000;
const maxLines = 40;

/** LongLists says how many rows a list or an object has at most before it folds. */
export const LongLists = createContext(maxRows);

/** How deep values are indented. What lies deeper stands with its path, so that no value runs out of width. */
const deepest = 7;
const Depth = createContext(0);

/**
 * Value shows JSON exactly as it is on record, without grouping, currency or dates. Objects indent,
 * lists of like objects are tables, and what is long or deep folds with its size.
 */
export function Value({ node }: { node: Node }) {
  const depth = useContext(Depth);
  const flat = useFlat();
  if (node.kind === "text") return <Leaf source={node.source} />;
  const none = node.kind === "object" ? node.members.length === 0 : node.items.length === 0;
  if (none) return <code className={css.leaf}>{node.kind === "object" ? "{}" : "[]"}</code>;
  if (flat && depth === 0) return <Paths node={node} />;
  if (depth === deepest)
    return (
      <Fold
        first={<code className={css.leaf}>{node.kind === "object" ? "{…} " : "[…] "}</code>}
        rest={() => <Paths node={node} />}
        size={`${leavesOf(node).length} values below`}
      />
    );
  return (
    <Depth value={depth + 1}>{node.kind === "object" ? <Members node={node} /> : <Items items={node.items} />}</Depth>
  );
}

type Placed = { path: (string | number)[]; source: string };

/** leavesOf returns the values that are in one, each with its path. */
function leavesOf(node: Node, path: Placed["path"] = []): Placed[] {
  const inner: [string | number, Node][] =
    node.kind === "object"
      ? node.members.map((m) => [m.name, m.value])
      : node.kind === "array"
        ? node.items.map((item, i) => [i, item])
        : [];
  if (inner.length > 0) return inner.flatMap(([name, n]) => leavesOf(n, [...path, name]));
  return [{ path, source: node.kind === "text" ? node.source : node.kind === "object" ? "{}" : "[]" }];
}

/** Paths shows all values that are in one below each other, each under its path. */
const Paths = ({ node }: { node: Node }) => (
  <dl className={css.paths}>
    {leavesOf(node).map((l, i) => (
      <div key={i}>
        <dt>
          {l.path.map((name, j) => (
            <bdi key={j}>{typeof name === "number" ? `[${name}]` : marked(name)}</bdi>
          ))}
        </dt>
        <dd>
          <Leaf source={l.source} />
        </dd>
      </div>
    ))}
  </dl>
);

function Leaf({ source }: { source: string }) {
  if (source[0] !== '"') return <code className={css.leaf}>{source}</code>;
  const text = JSON.parse(source) as string;
  const shown = spoken(text);
  const first = shown.split("\n", maxLines).join("\n").slice(0, maxText);
  if (first === shown) return <code className={css.leaf}>{shown}</code>;
  return (
    <Fold
      first={<code className={css.leaf}>{first}…</code>}
      rest={() => <code className={css.leaf}>{shown}</code>}
      size={`${text.length.toLocaleString("en")} characters`}
    />
  );
}

function Members({ node }: { node: Node & { kind: "object" } }) {
  const max = useContext(LongLists);
  const rows = (members: typeof node.members) => (
    <dl className={css.object}>
      {members.map((m, i) => (
        <div key={i} className={m.value.kind === "text" ? css.member : `${css.member} ${css.nest}`}>
          <dt>
            <bdi>{marked(m.name)}</bdi>
          </dt>
          <dd>
            <Value node={m.value} />
          </dd>
        </div>
      ))}
    </dl>
  );
  if (node.members.length <= max) return rows(node.members);
  return (
    <Fold
      first={rows(node.members.slice(0, max))}
      rest={() => rows(node.members)}
      size={`${node.members.length} members`}
    />
  );
}

function Items({ items }: { items: Node[] }) {
  const max = useContext(LongLists);
  const columns = columnsOf(items);
  const show = (some: Node[]) => (columns ? <Rows items={some} columns={columns} /> : <List items={some} />);
  if (items.length <= max) return show(items);
  return (
    <Fold
      first={show(items.slice(0, max))}
      rest={() => show(items)}
      size={`${items.length.toLocaleString("en")} rows`}
    />
  );
}

/** columnsOf returns the names that all items have in the same order, if they are objects of simple values. */
function columnsOf(items: Node[]): string[] | undefined {
  const names = (n: Node) => (n.kind === "object" ? n.members.map((m) => m.name) : []);
  const first = names(items[0] as Node);
  const key = JSON.stringify(first);
  const flat = (n: Node) => n.kind === "object" && n.members.every((m) => m.value.kind === "text");
  const fits = first.length > 0 && first.length <= 6 && new Set(first).size === first.length;
  return fits && items.every((n) => flat(n) && JSON.stringify(names(n)) === key) ? first : undefined;
}

/** roomOf is a class by how wide a table has to be for no value of it to be squeezed. If there is less, its rows stand below each other. */
function roomOf(items: Node[], columns: string[]) {
  const wide = columns.reduce((all, name, i) => {
    const longest = items.reduce((n, item) => Math.max(n, sizeIn(item, i)), name.length);
    return all + 16 + 8 * Math.min(longest, 18);
  }, 0);
  return wide <= 280 ? css.small : wide <= 440 ? css.middle : wide <= 640 ? css.large : css.never;
}

const sizeIn = (item: Node, i: number) => {
  const value = item.kind === "object" ? item.members[i]?.value : undefined;
  return value?.kind === "text" ? value.source.length : 0;
};

const Rows = ({ items, columns }: { items: Node[]; columns: string[] }) => (
  <div className={css.box}>
    <table className={`${css.table} ${roomOf(items, columns)}`}>
      <thead>
        <tr>
          {columns.map((c) => (
            <th key={c} scope="col">
              <bdi>{marked(c)}</bdi>
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {items.map((item, i) => (
          <tr key={i}>
            {item.kind === "object" &&
              item.members.map((m, j) => (
                <td key={j} data-name={marked(m.name)}>
                  <Value node={m.value} />
                </td>
              ))}
          </tr>
        ))}
      </tbody>
    </table>
  </div>
);

const List = ({ items }: { items: Node[] }) => (
  <ol className={css.list}>
    {items.map((item, i) => (
      <li key={i}>
        <Value node={item} />
      </li>
    ))}
  </ol>
);

/** Inline shows a value in one line, cut where it is long. */
export function Inline({ node, max = 120 }: { node: Node; max?: number }) {
  const text =
    node.kind === "text" && node.source[0] === '"' ? marked(JSON.parse(node.source) as string) : inline(node);
  return (
    <code title={text.length > max ? text.slice(0, 4000) : undefined}>
      {text.length > max ? `${text.slice(0, max)}…` : text}
    </code>
  );
}
