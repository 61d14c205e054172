import { Hidden } from "../parts/said";
import { compact, member, stringOf, texts, type Node } from "../text/json";
import type { Edit } from "./edit";
import { Field } from "./fields";
import css from "./form.module.css";

/** SchemaForm takes a value, with a field for each part of it or as JSON. */
export function SchemaForm({
  edit,
  schema,
  label = "Value",
}: {
  edit: Edit;
  schema: Node | undefined;
  /** label calls a value that is no object, unless its schema has a title. */
  label?: string;
}) {
  const raw = edit.raw ?? (edit.drawn(schema) ? undefined : "");
  const wrong = edit.invalid();
  return (
    <div className={css.body}>
      {raw !== undefined ? (
        <textarea
          className={css.raw}
          aria-label="value, as JSON"
          spellCheck={false}
          rows={Math.min(24, raw.split("\n").length + 2)}
          value={raw}
          onChange={(e) => edit.type(e.target.value)}
        />
      ) : (
        edit.value && (
          <Field
            node={edit.value}
            schema={schema}
            was={edit.start}
            change={edit.set}
            name=""
            label={stringOf(member(schema, "title")) ?? label}
          />
        )
      )}
      <Hidden texts={texts(edit.value)} />
      {wrong && <p className={css.wrong}>{wrong}</p>}
      {edit.raw !== undefined && schema && (
        <details className={css.schema}>
          <summary>What the value must be</summary>
          <pre>{compact(schema)}</pre>
        </details>
      )}
    </div>
  );
}
