import { Plus, Trash2 } from "lucide-react";
import { useEffect, useMemo, useRef } from "react";
import type { Gate } from "../api/client";
import { Button } from "../parts/button";
import { Card } from "../parts/card";
import { Hidden, Said } from "../parts/said";
import { Inline } from "../parts/value";
import { compact, fill, member, onRecord, stringNode, stringOf, texts, type Node } from "../text/json";
import type { Draft } from "./draft";
import css from "./form.module.css";

/** ValueForm takes the value of an edit or an answer, by the question's schema or as JSON. */
export function ValueForm({ gate, draft }: { gate: Gate; draft: Draft }) {
  const ref = useRef<HTMLDivElement>(null);
  const schema = useMemo(() => onRecord(gate.schema), [gate.schema]);
  const drawn = draft.value !== undefined && draws(draft.value, schema);
  const raw = draft.raw ?? (drawn ? undefined : "");
  useEffect(() => {
    if (!drawn) draft.showRaw(true);
    ref.current?.scrollIntoView({ block: "nearest" });
    // Once, when the form is opened.
  }, []);
  return (
    <div ref={ref}>
      <Card
        title={draft.verb === "edit" ? "What goes on in place of what was asked" : "Your answer"}
        label="value"
        also={
          drawn && (
            <Button tone="quiet" onClick={() => draft.showRaw(draft.raw === undefined)}>
              {draft.raw === undefined ? "JSON" : "Form"}
            </Button>
          )
        }
      >
        <div className={css.body}>
          {raw !== undefined ? (
            <textarea
              className={css.raw}
              aria-label="value, as JSON"
              spellCheck={false}
              rows={Math.min(24, raw.split("\n").length + 2)}
              value={raw}
              onChange={(e) => draft.type(e.target.value)}
            />
          ) : (
            draft.value && (
              <Field
                node={draft.value}
                schema={schema}
                was={draft.start}
                change={draft.setValue}
                name=""
                label="value"
              />
            )
          )}
          <Hidden texts={texts(draft.value)} />
          {draft.invalid() && <p className={css.wrong}>{draft.invalid()}</p>}
          {draft.raw !== undefined && schema && (
            <details className={css.schema}>
              <summary>What the value must be</summary>
              <pre>{compact(schema)}</pre>
            </details>
          )}
        </div>
      </Card>
    </div>
  );
}

/** draws says whether every part of a value has a field of its own. */
function draws(node: Node, schema: Node | undefined): boolean {
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
};

const typeOf = (node: Node, schema: Node | undefined): string => {
  const type = member(schema, "type");
  const named =
    stringOf(type) ?? (type?.kind === "array" ? type.items.map(stringOf).find((t) => t && t !== "null") : undefined);
  if (named) return named;
  if (node.kind !== "text") return node.kind;
  if (node.source[0] === '"') return "string";
  return node.source === "true" || node.source === "false" ? "boolean" : node.source === "null" ? "string" : "number";
};

function Field(props: FieldProps) {
  const { node, schema, change, name, label, was } = props;
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
              label={labelOf(m.name, property)}
            />
          );
        })}
      </fieldset>
    );
  }
  if (node.kind === "array") return <ListField {...props} node={node} />;
  const changed = was !== undefined && compact(was) !== compact(node);
  return (
    <label className={changed ? `${css.field} ${css.changed}` : css.field}>
      <span className={css.label}>
        <Said>{label}</Said>
      </span>
      <Leaf node={node} schema={schema} change={change} type={typeOf(node, schema)} />
      {changed && was && (
        <span className={css.was}>
          was <Inline node={was} max={60} />
        </span>
      )}
    </label>
  );
}

const labelOf = (name: string, schema: Node | undefined) =>
  stringOf(member(schema, "title")) ?? stringOf(member(schema, "description")) ?? name;

function Leaf({
  node,
  schema,
  change,
  type,
}: {
  node: Node & { kind: "text" };
  schema: Node | undefined;
  change: (n: Node) => void;
  type: string;
}) {
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
        aria-invalid={!isNumber(node.source, type)}
        onChange={(e) => change({ kind: "text", source: e.target.value.trim() || "null" })}
      />
    );
  }
  const text = stringOf(node) ?? "";
  const format = stringOf(member(schema, "format"));
  const set = (value: string) => change(stringNode(value));
  if (format === "date") return <input type="date" value={text} onChange={(e) => set(e.target.value)} />;
  if (text.includes("\n") || text.length > 80)
    return (
      <textarea
        rows={Math.min(12, text.split("\n").length + Math.ceil(text.length / 90))}
        value={text}
        onChange={(e) => set(e.target.value)}
      />
    );
  return <input value={text} onChange={(e) => set(e.target.value)} />;
}

const isNumber = (source: string, type: string) =>
  (type === "integer" ? /^-?(0|[1-9]\d*)$/ : /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/).test(source);

function ListField({ node, schema, was, change, label, name }: FieldProps & { node: Node & { kind: "array" } }) {
  const item = member(schema, "items");
  const replace = (items: Node[]) => change({ kind: "array", items });
  return (
    <fieldset className={css.group}>
      <legend>
        <Said>{label}</Said>, {node.items.length}
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
        onClick={() => replace([...node.items, fill(undefined, item) ?? blank(item)])}
      >
        Add
      </Button>
    </fieldset>
  );
}

const blank = (schema: Node | undefined): Node => {
  const type = stringOf(member(schema, "type"));
  return {
    kind: "text",
    source: type === "number" || type === "integer" ? "null" : type === "boolean" ? "false" : '""',
  };
};
