import { Hidden, Said } from "../parts/said";
import { compact, member, stringOf, texts, type Node } from "../text/json";
import type { Edit } from "./edit";
import type { Fault } from "./faults";
import { Faults, Field } from "./fields";
import css from "./form.module.css";

/** SchemaForm takes a value, with a field for each part of it or as JSON. */
export function SchemaForm({
  edit,
  schema,
  label = "Value",
  faults = [],
}: {
  edit: Edit;
  schema: Node | undefined;
  /** label calls a value that is no object, unless its schema has a title. */
  label?: string;
  /** faults are what is wrong with the value. */
  faults?: Fault[];
}) {
  const raw = edit.raw ?? (edit.drawn() ? undefined : "");
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
          <Faults value={faults}>
            <Field
              node={edit.value}
              schema={schema}
              was={edit.start}
              change={edit.set}
              name=""
              path=""
              label={stringOf(member(schema, "title")) ?? label}
            />
          </Faults>
        )
      )}
      <Hidden texts={texts(edit.value)} />
      {wrong && faults.length === 0 && <p className={css.wrong}>{wrong}</p>}
      {raw !== undefined &&
        !wrong &&
        faults.map((f) => (
          <p key={f.path} className={css.wrong}>
            <Said>{`${f.path.slice(1) || "The value"} ${f.says}`}</Said>
          </p>
        ))}
      {edit.raw !== undefined && schema && (
        <details className={css.schema}>
          <summary>What the value must be</summary>
          <pre>{compact(schema)}</pre>
        </details>
      )}
    </div>
  );
}
