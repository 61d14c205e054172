import { Plus, Trash2 } from "lucide-react";
import { Button } from "../parts/button";
import { Said } from "../parts/said";
import { Inline } from "../parts/value";
import { compact, fill, member, stringNode, stringOf, type Node } from "../text/json";
import { createContext, useContext } from "react";
import { absent, isAbsent, needed } from "./blank";
import css from "./form.module.css";

/** draws says whether every part of a value has a field of its own. */
export function draws(node: Node, schema: Node | undefined): boolean {
  if (node.kind === "text") return true;
  if (node.kind === "array") return node.items.every((n) => draws(n, member(schema, "items")));
  const names = new Set(node.members.map((m) => m.name));
  return (
    names.size === node.members.length &&
    node.members.every((m) => draws(m.value, member(member(schema, "properties"), m.name)))
  );
}

type FieldProps = {
  node: Node;
  schema: Node | undefined;
  was: Node | undefined;
  change: (n: Node) => void;
  name: string;
  label: string;
  need?: boolean;
};

const typeOf = (node: Node, schema: Node | undefined): string => {
  const type = member(schema, "type");
  const named =
    stringOf(type) ?? (type?.kind === "array" ? type.items.map(stringOf).find((t) => t && t !== "null") : undefined);
  if (named) return named;
  if (isAbsent(node)) return "json";
  if (node.kind !== "text") return node.kind;
  if (node.source[0] === '"') return "string";
  return node.source === "true" || node.source === "false" ? "boolean" : node.source === "null" ? "string" : "number";
};

/** Field takes one value, by its schema and by what it is. */
export function Field(props: FieldProps) {
  const { node, schema, change, name, label, was, need } = props;
  const named = useContext(Named);
  const hint = named && node.kind !== "object" ? stringOf(member(schema, "description")) : undefined;
  if (node.kind === "object") {
    return (
      <fieldset className={name ? css.group : css.top}>
        {name && (
          <legend>
            <Said>{label}</Said>
          </legend>
        )}
        {node.members.map((m, i) => {
          const property = member(member(schema, "properties"), m.name);
          const set = (value: Node) =>
            change({ kind: "object", members: node.members.map((o, j) => (i === j ? { ...o, value } : o)) });
          return (
            <Field
              key={m.name}
              node={m.value}
              schema={property}
              was={member(was, m.name)}
              change={set}
              name={m.name}
              label={labelOf(m.name, property, named)}
              need={isAbsent(m.value) && needed(schema, m.name)}
            />
          );
        })}
      </fieldset>
    );
  }
  if (node.kind === "array") return <ListField {...props} node={node} />;
  const changed = was !== undefined && !isAbsent(was) && compact(was) !== compact(node);
  return (
    <label className={[css.field, changed && css.changed, name === "" && css.alone].filter(Boolean).join(" ")}>
      <span className={css.label}>
        <Said>{label}</Said>
        {need && <span title="needed"> *</span>}
        {hint && (
          <small className={css.hint}>
            <Said>{hint}</Said>
          </small>
        )}
      </span>
      <Leaf
        node={node}
        schema={schema}
        change={change}
        type={typeOf(node, schema)}
        optional={was !== undefined && isAbsent(was)}
        long={name === ""}
      />
      {changed && was && (
        <span className={css.was}>
          was <Inline node={was} max={60} />
        </span>
      )}
    </label>
  );
}

/**
 * Named says how fields are called: by their names with the description below, as a program's input is, or
 * by the description, which is what a question calls its values.
 */
export const Named = createContext(false);

const labelOf = (name: string, schema: Node | undefined, named: boolean) =>
  stringOf(member(schema, "title")) ?? (named ? undefined : stringOf(member(schema, "description"))) ?? name;

function Leaf({
  node,
  schema,
  change,
  type,
  optional,
  long,
}: {
  node: Node & { kind: "text" };
  schema: Node | undefined;
  change: (n: Node) => void;
  type: string;
  optional: boolean;
  long: boolean;
}) {
  const empty = optional ? absent : ({ kind: "text", source: "null" } as const);
  const options = member(schema, "enum");
  if (options?.kind === "array" && options.items.every((o) => o.kind === "text")) {
    const sources = options.items.map((o) => compact(o));
    return (
      <select value={node.source} onChange={(e) => change({ kind: "text", source: e.target.value })}>
        {!sources.includes(node.source) && <option value={node.source}>choose</option>}
        {sources.map((s) => (
          <option key={s} value={s}>
            {stringOf({ kind: "text", source: s }) ?? s}
          </option>
        ))}
      </select>
    );
  }
  if (type === "boolean") {
    return (
      <input
        type="checkbox"
        checked={node.source === "true"}
        onChange={(e) => change({ kind: "text", source: String(e.target.checked) })}
      />
    );
  }
  if (type === "number" || type === "integer") {
    return (
      <input
        inputMode="decimal"
        className={css.number}
        value={node.source === "null" ? "" : node.source}
        aria-invalid={!isAbsent(node) && !isNumber(node.source, type)}
        onChange={(e) => change(e.target.value.trim() ? { kind: "text", source: e.target.value.trim() } : empty)}
      />
    );
  }
  if (type === "json" || type === "object" || type === "array") {
    return (
      <textarea
        rows={3}
        spellCheck={false}
        placeholder="JSON"
        value={node.source}
        aria-invalid={!isAbsent(node) && !isJSON(node.source)}
        onChange={(e) => change({ kind: "text", source: e.target.value })}
      />
    );
  }
  const text = stringOf(node) ?? "";
  const format = stringOf(member(schema, "format"));
  const set = (value: string) => change(value === "" && optional ? absent : stringNode(value));
  if (format === "date") return <input type="date" value={text} onChange={(e) => set(e.target.value)} />;
  if (long || text.includes("\n") || text.length > 80)
    return (
      <textarea
        rows={Math.min(12, (long ? 3 : 0) + text.split("\n").length + Math.ceil(text.length / 90))}
        value={text}
        onChange={(e) => set(e.target.value)}
      />
    );
  return <input value={text} onChange={(e) => set(e.target.value)} />;
}

function isJSON(source: string): boolean {
  try {
    JSON.parse(source);
    return true;
  } catch {
    return false;
  }
}

const isNumber = (source: string, type: string) =>
  (type === "integer" ? /^-?(0|[1-9]\d*)$/ : /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/).test(source);

function ListField({ node, schema, was, change, label, name }: FieldProps & { node: Node & { kind: "array" } }) {
  const item = member(schema, "items");
  const hint = useContext(Named) ? stringOf(member(schema, "description")) : undefined;
  const replace = (items: Node[]) => change({ kind: "array", items });
  return (
    <fieldset className={css.group}>
      <legend>
        <Said>{label}</Said>, {node.items.length}
        {hint && (
          <small className={css.hint}>
            <Said>{hint}</Said>
          </small>
        )}
      </legend>
      {node.items.map((n, i) => (
        <div key={i} className={css.item}>
          <Field
            node={n}
            schema={item}
            was={was?.kind === "array" ? was.items[i] : undefined}
            change={(v) => replace(node.items.map((o, j) => (i === j ? v : o)))}
            name={`${name}/${i}`}
            label={`${i + 1}`}
          />
          <button
            type="button"
            className={css.remove}
            aria-label={`remove ${i + 1}`}
            onClick={() => replace(node.items.filter((_, j) => j !== i))}
          >
            <Trash2 size={14} strokeWidth={1.5} aria-hidden />
          </button>
        </div>
      ))}
      <Button
        tone="quiet"
        icon={<Plus size={14} strokeWidth={1.5} aria-hidden />}
        onClick={() => replace([...node.items, fill(undefined, item) ?? first(item)])}
      >
        Add
      </Button>
    </fieldset>
  );
}

const first = (schema: Node | undefined): Node => {
  const type = stringOf(member(schema, "type"));
  return {
    kind: "text",
    source: type === "number" || type === "integer" ? "null" : type === "boolean" ? "false" : '""',
  };
};
