import { Play } from "lucide-react";
import { useEffect, useMemo, useRef, useState } from "react";
import { api, get, Problem } from "../api/client";
import type { Program } from "../data/programs";
import { queries } from "../data/query";
import { blank } from "../form/blank";
import { useEdit } from "../form/edit";
import { Named } from "../form/fields";
import { SchemaForm } from "../form/form";
import { Button } from "../parts/button";
import { Card } from "../parts/card";
import { Failure } from "../parts/notice";
import { onRecord, type Node } from "../text/json";
import { inProgram } from "./address";
import { Begun } from "./begun";
import { Also, Inputs } from "./also";
import {
  bodyOf,
  emptyOf,
  inputOf,
  isBegun,
  isEmpty,
  lackOf,
  lacksOf,
  nothingFilled,
  refusedOf,
  sending,
  type Filled,
  type Run,
  type Sent,
} from "./fill";
import css from "./start.module.css";

/** Start begins a run: its input by the program's schema, and if somebody wants a name, labels and a time. */
export function Start({ program, may }: { program: Program; may: boolean }) {
  if (program.starts && may) return <Form program={program} />;
  return (
    <Card title="Start a run" label="start">
      <p className={css.quiet}>
        {program.starts
          ? "Operators start runs. You may look at those that there are."
          : "Its threads are begun by a program, or by a message to an agent."}
      </p>
    </Card>
  );
}

type Kept = {
  value: Node | undefined;
  raw: string | undefined;
  filled: Filled;
  sent: Sent | undefined;
  run: Run | undefined;
};

/** What was typed is kept for each program, while this tab lives. */
const kept = new Map<string, Kept>();

function Form({ program }: { program: Program }) {
  const schema = useMemo(() => onRecord(program.input), [program.input]);
  const edit = useEdit(schema ?? { kind: "object", members: [] });
  const [before] = useState(kept.get(program.name));
  const [filled, setFilled] = useState(before?.filled ?? nothingFilled);
  const [sent, setSent] = useState(before?.sent);
  const [run, setRun] = useState(before?.run);
  const [asked, setAsked] = useState(false);
  const [error, setError] = useState<{ of: string; error: unknown }>();
  const [busy, setBusy] = useState(false);
  const running = useRef(false);
  const form = useRef<HTMLFormElement>(null);
  const link = useRef<HTMLAnchorElement>(null);
  useEffect(() => {
    edit.begin(blank(schema), before?.value);
    if (before?.raw !== undefined) edit.type(before.raw);
  }, [schema]);
  useEffect(() => {
    if (edit.value) kept.set(program.name, { value: edit.value, raw: edit.raw, filled, sent, run });
  }, [edit.value, edit.raw, filled, sent, run]);

  const given = edit.given();
  const text = JSON.stringify(bodyOf(inputOf(given, schema), filled));
  const begun = isBegun(sent, text);
  const unread = edit.raw === undefined ? "" : edit.invalid();
  const lacks = unread ? [] : lacksOf(given, schema);
  const empty = isEmpty(given, schema);
  const refused =
    error?.of === text && error.error instanceof Problem
      ? refusedOf(error.error.body.field, error.error.body.detail)
      : [];
  const lacking = lacks.length > 0 && edit.raw === undefined ? lackOf(lacks, schema) : "";
  const bare = lacks.length === 0 && unread === "" && empty ? emptyOf(schema) : "";
  const says = asked && !begun && !busy ? lacking || bare : "";
  const [sought, setSought] = useState(0);
  const focus = () => setSought((n) => n + 1);
  useEffect(() => {
    const at = (which: string) => form.current?.querySelector<HTMLElement>(which);
    if (sought > 0) (at("[aria-invalid=true]") ?? at("input, select, textarea"))?.focus();
  }, [sought]);
  const fresh = useRef(false);
  useEffect(() => {
    if (fresh.current) link.current?.focus();
    fresh.current = false;
  }, [run]);

  const submit = async (evenEmpty = false) => {
    if (running.current || begun) return;
    setAsked(true);
    if (unread || lacks.length > 0 || (empty && !evenEmpty)) return void focus();
    running.current = true;
    setBusy(true);
    setError(undefined);
    const now = sending(sent, text);
    setSent(now);
    try {
      const run = await get(
        api.POST("/api/programs/{program}/runs", {
          params: { ...inProgram(program.name), header: { "Idempotency-Key": now.key } },
          body: bodyOf(inputOf(given, schema), filled),
        }),
      );
      fresh.current = true;
      setSent({ ...now, run });
      setRun(run);
      setAsked(false);
      void queries.invalidateQueries({ predicate: (q) => q.queryKey[0] !== "program" && q.queryKey[0] !== "me" });
    } catch (error) {
      setError({ of: text, error });
      if (isRefusal(error)) setSent(undefined); // it began nothing, and another attempt is another request
      if (error instanceof Problem && refusedOf(error.body.field, error.body.detail).length > 0) focus();
    }
    running.current = false;
    setBusy(false);
  };
  /** again leaves what was typed, without the name and the time, which are of the run that has begun. */
  const again = () => {
    setSent(undefined);
    setFilled({ ...filled, id: "", when: "" });
    focus();
  };
  const clear = () => {
    edit.begin(blank(schema));
    setFilled(nothingFilled);
    setSent(undefined);
    setAsked(false);
    setError(undefined);
    focus();
  };
  const typed = !empty || filled !== nothingFilled;
  return (
    <Card
      title="Start a run"
      label="start"
      also={
        <span className={css.tools}>
          {typed && (
            <Button tone="quiet" onClick={clear}>
              Clear
            </Button>
          )}
          <Inputs program={program} take={(e) => edit.begin(e.input)} />
          {edit.drawn() && (
            <Button tone="quiet" onClick={() => edit.showRaw(edit.raw === undefined)}>
              {edit.raw === undefined ? "JSON" : "Form"}
            </Button>
          )}
        </span>
      }
    >
      <form
        ref={form}
        className={css.form}
        aria-label={`start ${program.name}`}
        noValidate
        onSubmit={(e) => {
          e.preventDefault();
          void submit();
        }}
      >
        <Named value={true}>
          <SchemaForm
            edit={edit}
            schema={schema}
            label="Input"
            faults={lacks.length > 0 ? lacks.filter((f) => asked || !f.missing) : refused}
          />
        </Named>
        <Also filled={filled} set={setFilled} />
        {error !== undefined && (
          <Failure
            error={error.error}
            safe={
              isRefusal(error.error)
                ? "No run began."
                : "It is not known whether the run began. Start sends the same request again, and begins it once."
            }
          />
        )}
        {says && (
          <p className={css.says} role="alert">
            {says}
          </p>
        )}
        {run && <Begun run={run} link={link} />}
        <p className={css.line}>
          <Button
            type="submit"
            tone="strong"
            icon={<Play size={16} strokeWidth={1.5} aria-hidden />}
            aria-disabled={busy}
            disabled={begun}
          >
            {busy ? "Recording the start" : begun ? "Started" : "Start"}
          </Button>
          {begun && <Button onClick={again}>Start another like it</Button>}
          {says && says === bare && <Button onClick={() => void submit(true)}>Start with nothing</Button>}
        </p>
      </form>
    </Card>
  );
}

/** isRefusal says whether it is known that the request began no run. */
const isRefusal = (error: unknown) =>
  error instanceof Problem &&
  error.body.status !== undefined &&
  error.body.status < 500 &&
  error.code !== "in-progress";
