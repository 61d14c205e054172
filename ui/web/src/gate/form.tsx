import { useEffect, useMemo, useRef } from "react";
import type { Gate } from "../api/client";
import { Button } from "../parts/button";
import { Card } from "../parts/card";
import { SchemaForm } from "../form/form";
import { onRecord } from "../text/json";
import type { Draft } from "./draft";

/** ValueForm takes the value of an edit or an answer, by the question's schema or as JSON. */
export function ValueForm({ gate, draft }: { gate: Gate; draft: Draft }) {
  const ref = useRef<HTMLDivElement>(null);
  const schema = useMemo(() => onRecord(gate.schema), [gate.schema]);
  const { edit } = draft;
  const drawn = edit.drawn(schema);
  useEffect(() => {
    if (!drawn) edit.showRaw(true);
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
            <Button tone="quiet" onClick={() => edit.showRaw(edit.raw === undefined)}>
              {edit.raw === undefined ? "JSON" : "Form"}
            </Button>
          )
        }
      >
        <SchemaForm edit={edit} schema={schema} />
      </Card>
    </div>
  );
}
