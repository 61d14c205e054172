import { Plus, Trash2 } from "lucide-react";
import { Button } from "../parts/button";
import { Said } from "../parts/said";
import { Inline } from "../parts/value";
import { compact, fill, member, stringNode, stringOf, type Node } from "../text/json";
import { createContext, useContext, useId } from "react";
import { hiddenIn } from "../text/hidden";
import { absent, isAbsent, needed, typeOf as typeIn } from "./blank";
import type { Fault } from "./faults";
import { pathOf } from "./place";
import css from "./form.module.css";

type FieldProps = {
  node: Node;
  schema: Node | undefined;
  was: Node | undefined;
  change: (n: Node) => void;
  name: string;
  path: string;
  label: string;
  need?: boolean;
};

/** Faults are what is wrong with the value of a form: each is said at its field. */
export const Faults = createContext<Fault[]>([]);

/** Labels are what a question calls its values, by their paths. */
export const Labels = createContext<ReadonlyMap<string, string>>(new Map());

/** Wrong says what is wrong at a path. */
const Wrong = ({ says, id }: { says: string[]; id: string }) =>
  says.length > 0 && (
    <span id={id} className={css.fault} role="alert">
      <Said>{says.join("; ")}</Said>
    </span>
  );

const typeOf = (node: Node, schema: Node | undefined): string => {
  const named = typeIn(schema);
  if (named) return named;
  if (isAbsent(node)) return "json";
  if (node.kind !== "text") return node.kind;
  if (node.source[0] === '"') return "string";
  return node.source === "true" || node.source === "false" ? "boolean" : node.source === "null" ? "string" : "number";
};

/** Field takes one value, by its schema and by what it is. */
export function Field(props: FieldProps) {
  const { node, schema, change, name, path, label, was, need } = props;
  const says = useContext(Faults).flatMap((f) => (f.path === path ? f.says : []));
  const id = useId();
  const named = useContext(Named);
  const labels = useContext(Labels);
  const hint = named && node.kind !== "object" ? stringOf(member(schema, "description")) : undefined;
  if (node.kind === "object") {
    return (
      <fieldset className={name ? css.group : css.top}>
        {name && (
          <legend>
            <Said>{label}</Said>
          </legend>
        )}
        <Wrong says={says} id={id} />
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
              path={pathOf(m.name, path)}
              label={labels.get(pathOf(m.name, path)) ?? labelOf(m.name, property, named)}
              need={needed(schema, m.name)}
            />
          );
        })}
      </fieldset>
    );
  }
  if (node.kind === "array") return <ListField {...props} node={node} />;
  const text = stringOf(node) ?? "";
  const hidden = hiddenIn([text]).length > 0 && text.slice(0, 200);
  const changed = was !== undefined && !isAbsent(was) && compact(was) !== compact(node);
  return (
    <label className={[css.field, changed && css.changed, name === "" && css.alone].filter(Boolean).join(" ")}>
      <span className={css.label}>
        <Said>{label}</Said>
        {need && isBlank(node) && <span title="needed"> *</span>}
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
        open={was !== undefined && isBlank(was)}
        long={name === ""}
        wrong={says.length > 0 ? id : undefined}
      />
      <Wrong says={says} id={id} />
      {hidden && (
        <span className={css.fault} role="note">
          It has characters that are not seen: <Said>{hidden}</Said>
        </span>
      )}
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

const isBlank = (node: Node) => isAbsent(node) || (node.kind === "text" && node.source === "null");

const labelOf = (name: string, schema: Node | undefined, named: boolean) =>
  stringOf(member(schema, "title")) ?? (named ? undefined : stringOf(member(schema, "description"))) ?? name;

function Leaf({
  node,
  schema,
  change,
  type,
  optional,
  open,
  long,
  wrong,
}: {
  node: Node & { kind: "text" };
  schema: Node | undefined;
  change: (n: Node) => void;
  type: string;
  optional: boolean;
  /** Nothing was chosen at first: an empty box would look like a no. */
  open: boolean;
  long: boolean;
  wrong: string | undefined;
}) {
  const bad = wrong ? ({ "aria-invalid": true, "aria-describedby": wrong } as const) : {};
  const empty = optional ? absent : ({ kind: "text", source: "null" } as const);
  const options = member(schema, "enum");
  const listed = options?.kind === "array" && options.items.every((o) => o.kind === "text");
  if (listed || (type === "boolean" && open)) {
    const sources = listed ? options.items.map((o) => compact(o)) : ["true", "false"];
    const none = optional ? "" : node.source;
    return (
      <select {...bad} value={node.source} onChange={(e) => change({ kind: "text", source: e.target.value })}>
        {(optional || !sources.includes(node.source)) && <option value={none}>choose</option>}
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
        {...bad}
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
        aria-invalid={!isBlank(node) && !isNumber(node.source, type)}
        {...bad}
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
        {...bad}
        onChange={(e) => change({ kind: "text", source: e.target.value })}
      />
    );
  }
  const text = stringOf(node) ?? "";
  const format = stringOf(member(schema, "format"));
  const set = (value: string) => change(value === "" && optional ? absent : stringNode(value));
  if (format === "date") return <input {...bad} type="date" value={text} onChange={(e) => set(e.target.value)} />;
  if (long || text.includes("\n") || text.length > 80)
    return (
      <textarea
        {...bad}
        rows={Math.min(12, (long ? 3 : 0) + text.split("\n").length + Math.ceil(text.length / 90))}
        value={text}
        onChange={(e) => set(e.target.value)}
      />
    );
  return <input {...bad} value={text} onChange={(e) => set(e.target.value)} />;
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

function ListField({ node, schema, was, change, label, name, path }: FieldProps & { node: Node & { kind: "array" } }) {
  const says = useContext(Faults).flatMap((f) => (f.path === path ? f.says : []));
  const id = useId();
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
      <Wrong says={says} id={id} />
      {node.items.map((n, i) => (
        <div key={i} className={css.item}>
          <Field
            node={n}
            schema={item}
            was={was?.kind === "array" ? was.items[i] : undefined}
            change={(v) => replace(node.items.map((o, j) => (i === j ? v : o)))}
            name={`${name}/${i}`}
            path={`${path}/${i}`}
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
