import { useEffect, useMemo, useRef, useState, type KeyboardEvent } from "react";
import { Problem, type Gate } from "../api/client";
import { faultsOf, type Fault } from "../form/faults";
import { Labels } from "../form/fields";
import { SchemaForm } from "../form/form";
import { pathOf, placeOf } from "../form/place";
import { Button } from "../parts/button";
import { Card } from "../parts/card";
import { onRecord, type Node } from "../text/json";
import { useOutcome } from "./decide";
import type { Draft } from "./draft";
import { isUnknown } from "./right";
import css from "./form.module.css";

const none = new Map<string, string>();
const fields = "input, select, textarea";

/** ValueForm takes the value of an edit or an answer, by the question's schema or as JSON. */
export function ValueForm({ gate, draft }: { gate: Gate; draft: Draft }) {
  const ref = useRef<HTMLDivElement>(null);
  const schema = useMemo(() => onRecord(gate.schema), [gate.schema]);
  const { edit } = draft;
  const [asked, setAsked] = useState(false);
  const outcome = useOutcome(gate.id);
  const drawn = edit.drawn();
  const labels = useMemo(() => new Map(gate.binding.map((f) => [pathOf(f.name), f.label])), [gate.binding]);
  // An object in which nothing is given lacks its members, not itself.
  const empty: Node | undefined = edit.value?.kind === "object" ? { kind: "object", members: [] } : undefined;
  const lacks = () => faultsOf(edit.given() ?? empty, schema);
  const faults = lacks().filter((f) => asked || !f.missing);
  const refused = outcome?.step === "refused" ? ofServer(outcome.error) : [];
  const check = () => {
    const found = lacks();
    setAsked(true);
    requestAnimationFrame(() => show(ref.current?.querySelector<HTMLElement>("[aria-invalid=true]")));
    const more = found.length > 1 ? `, and ${found.length - 1} more` : "";
    return found[0] && `${placeOf(found[0].path, schema, "The answer")} ${found[0].says}${more}.`;
  };
  useEffect(() => {
    draft.check.current = check;
    return () => {
      draft.check.current = undefined;
    };
  });
  useEffect(() => {
    if (!drawn) edit.showRaw(true);
    // After the bar below has its size.
    requestAnimationFrame(() => show(ref.current?.querySelector<HTMLElement>(fields)));
    // Once, when the form is opened.
  }, []);
  const press = (e: KeyboardEvent) => {
    if (e.key === "Escape") draft.open(undefined);
    else if (e.key === "Enter" && e.shiftKey) draft.send.current?.();
    else return;
    e.preventDefault();
  };
  return (
    <div ref={ref} onKeyDown={press}>
      <fieldset className={css.form} disabled={outcome?.step === "sending"}>
        <Card
          title={titleOf(gate, draft)}
          label="value"
          also={
            <>
              {edit.changed() && (
                <Button tone="quiet" onClick={draft.again}>
                  Begin again
                </Button>
              )}
              {drawn && (
                <Button tone="quiet" onClick={() => edit.showRaw(edit.raw === undefined)}>
                  {edit.raw === undefined ? "JSON" : "Form"}
                </Button>
              )}
            </>
          }
        >
          <Labels value={draft.verb === "edit" ? labels : none}>
            <SchemaForm edit={edit} schema={schema} faults={faults.length > 0 ? faults : refused} />
          </Labels>
        </Card>
      </fieldset>
    </div>
  );
}

/** show puts the focus in a field, and the field in the middle, above the bar. */
function show(field: HTMLElement | null | undefined) {
  field?.focus({ preventScroll: true });
  field?.scrollIntoView({ block: "center" });
}

function titleOf(gate: Gate, draft: Draft): string {
  if (draft.verb === "edit") return "What goes on in place of what was asked";
  return isUnknown(gate) ? "Its result, since it was done" : "Your answer";
}

/** ofServer returns what the server refused in a value, at its place where the server names one. */
function ofServer(error: unknown): Fault[] {
  if (!(error instanceof Problem) || error.body.field !== "value") return [];
  const [, at, says] = /: at ([^\s:/]+): (?:\w+: )?(.*)$/.exec(error.body.detail) ?? [];
  return [at && says ? { path: `/${at}`, says } : { path: "", says: error.body.detail }];
}
