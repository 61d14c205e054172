import { History, Play, Plus, X } from "lucide-react";
import { useEffect, useMemo, useState } from "react";
import { Link } from "wouter";
import { api, get, Problem, type Schemas } from "../api/client";
import { useInputs, type Earlier, type Program } from "../data/programs";
import { queries } from "../data/query";
import { useEdit } from "../form/edit";
import { blank, typeOf } from "../form/blank";
import { Named } from "../form/fields";
import { SchemaForm } from "../form/form";
import { Button } from "../parts/button";
import { Card } from "../parts/card";
import { Chip } from "../parts/chip";
import { named } from "../parts/id";
import { Menu } from "../parts/menu";
import { Failure } from "../parts/notice";
import { Hidden, Said } from "../parts/said";
import { Ago, exact } from "../parts/time";
import { Inline } from "../parts/value";
import { compact, onRecord, type Node } from "../text/json";
import { threadPath } from "../thread/address";
import { inProgram } from "./address";
import css from "./start.module.css";

const icon = { size: 14, strokeWidth: 1.5, "aria-hidden": true } as const;

/** nothing is sent where no field is filled: the server then says which are needed. */
const nothing: Node = { kind: "object", members: [] };

type Run = Schemas["ProgramRun"];
type Label = { name: string; value: string };

/** Start begins a run: its input by the program's schema, and if somebody wants a name, labels and a time. */
export function Start({ program, may }: { program: Program; may: boolean }) {
  const schema = useMemo(() => onRecord(program.input), [program.input]);
  const edit = useEdit(schema ?? { kind: "object", members: [] });
  const [id, setId] = useState("");
  const [labels, setLabels] = useState<Label[]>([]);
  const [when, setWhen] = useState("");
  const [state, setState] = useState<{ busy: boolean; error?: unknown; run?: Run }>({ busy: false });
  // One key a run: a request whose answer was lost is sent again without beginning two.
  const [key, setKey] = useState<string>(() => crypto.randomUUID());
  useEffect(() => edit.begin(blank(schema)), [schema]);
  if (!program.starts)
    return (
      <Card title="Start a run" label="start">
        <p className={css.quiet}>Its threads are begun by a program, or by a message to an agent.</p>
      </Card>
    );
  if (!may)
    return (
      <Card title="Start a run" label="start">
        <p className={css.quiet}>Operators start runs. You may look at those that there are.</p>
      </Card>
    );
  const drawn = edit.drawn();
  const wrong = edit.invalid();
  const submit = async () => {
    if (state.busy || wrong) return;
    setState({ busy: true });
    const input = edit.given() ?? (schema && typeOf(schema) === "object" ? nothing : undefined);
    const some = Object.fromEntries(labels.filter((l) => l.name.trim()).map((l) => [l.name.trim(), l.value]));
    try {
      const run = await get(
        api.POST("/api/programs/{program}/runs", {
          params: { ...inProgram(program.name), header: { "Idempotency-Key": key } },
          body: {
            ...(input ? { input: compact(input) } : {}),
            ...(id.trim() ? { id: id.trim() } : {}),
            ...(when ? { startAt: new Date(when).toISOString() } : {}),
            ...(Object.keys(some).length > 0 ? { labels: some } : {}),
          },
        }),
      );
      setState({ busy: false, run });
      setKey(crypto.randomUUID());
      setId("");
      setWhen("");
      void queries.invalidateQueries({ predicate: (q) => q.queryKey[0] !== "program" && q.queryKey[0] !== "me" });
    } catch (error) {
      setState({ busy: false, error });
      if (error instanceof Problem && error.body.status !== undefined) setKey(crypto.randomUUID());
    }
  };
  return (
    <Card
      title="Start a run"
      label="start"
      also={
        <span className={css.tools}>
          <Inputs program={program} take={(e) => edit.begin(e.input)} />
          {drawn && (
            <Button tone="quiet" onClick={() => edit.showRaw(edit.raw === undefined)}>
              {edit.raw === undefined ? "JSON" : "Form"}
            </Button>
          )}
        </span>
      }
    >
      <form
        className={css.form}
        onSubmit={(e) => {
          e.preventDefault();
          void submit();
        }}
      >
        <Named value={true}>
          <SchemaForm edit={edit} schema={schema} label="Input" />
        </Named>
        <details className={css.more}>
          <summary>Name, time and labels</summary>
          <label className={css.field}>
            <span>Thread</span>
            <input
              placeholder="a new id"
              autoComplete="off"
              maxLength={200}
              value={id}
              onChange={(e) => setId(e.target.value)}
            />
          </label>
          <label className={css.field}>
            <span>Start at</span>
            <input type="datetime-local" step={1} value={when} onChange={(e) => setWhen(e.target.value)} />
          </label>
          {when && (
            <p className={css.time}>
              {exact(new Date(when).toISOString())}, in the zone of this browser unless it says UTC
            </p>
          )}
          <Labels labels={labels} set={setLabels} />
          <Hidden texts={[id, ...labels.flatMap((l) => [l.name, l.value])]} />
        </details>
        {state.error !== undefined && (
          <Failure
            error={state.error}
            safe={
              state.error instanceof Problem && state.error.body.status !== undefined
                ? "No run began."
                : "It is not known whether the run began. Start sends the same request again, and begins it once."
            }
          />
        )}
        {state.run && <Begun run={state.run} />}
        <p className={css.line}>
          <Button type="submit" tone="strong" icon={<Play {...icon} size={16} />} disabled={state.busy || wrong !== ""}>
            {state.busy ? "Recording the start" : "Start"}
          </Button>
        </p>
      </form>
    </Card>
  );
}

const Begun = ({ run }: { run: Run }) => (
  <p className={css.begun} role="status">
    <Chip state={run.status || "running"} />
    <Link href={threadPath(run.thread)}>
      <Said>{named(run.thread)}</Said>
    </Link>
    <span>{run.startAt ? `is on record, and starts ${exact(run.startAt)}` : "is on record"}</span>
  </p>
);

/** Inputs takes what an earlier run began with. */
function Inputs({ program, take }: { program: Program; take: (e: Earlier) => void }) {
  const found = useInputs(program.name, program.kind, true);
  if (!found.data?.length) return null;
  return (
    <Menu name="Earlier" label="Earlier inputs" icon={<History {...icon} />}>
      {(close) => (
        <ul className={css.earlier}>
          {found.data.map((e) => (
            <li key={e.thread}>
              <button
                type="button"
                onClick={() => {
                  take(e);
                  close();
                }}
              >
                <span>
                  <Said>{named(e.thread)}</Said> <Ago at={e.at} />
                </span>
                <Inline node={e.input} max={90} />
              </button>
            </li>
          ))}
        </ul>
      )}
    </Menu>
  );
}

/** Labels are rows of a name and a value. */
function Labels({ labels, set }: { labels: Label[]; set: (l: Label[]) => void }) {
  const change = (i: number, to: Partial<Label>) => set(labels.map((l, j) => (i === j ? { ...l, ...to } : l)));
  return (
    <>
      {labels.map((l, i) => (
        <div key={i} className={css.label}>
          <input
            aria-label="label"
            placeholder="label"
            maxLength={200}
            value={l.name}
            onChange={(e) => change(i, { name: e.target.value })}
          />
          <input
            aria-label="its value"
            placeholder="value"
            maxLength={200}
            value={l.value}
            onChange={(e) => change(i, { value: e.target.value })}
          />
          <button type="button" aria-label="remove the label" onClick={() => set(labels.filter((_, j) => j !== i))}>
            <X {...icon} />
          </button>
        </div>
      ))}
      {labels.length < 15 && (
        <Button tone="quiet" icon={<Plus {...icon} />} onClick={() => set([...labels, { name: "", value: "" }])}>
          Add a label
        </Button>
      )}
    </>
  );
}
