import { useEffect, useMemo, useState } from "react";
import { api, get } from "../api/client";
import { useGate } from "../data/gates";
import { queries } from "../data/query";
import { useEdit } from "../form/edit";
import { blank } from "../form/blank";
import { Named } from "../form/fields";
import { SchemaForm } from "../form/form";
import { announce } from "../parts/announce";
import { Button } from "../parts/button";
import { Dialog } from "../parts/dialog";
import { Failure } from "../parts/notice";
import { Said } from "../parts/said";
import { compact, onRecord, type Node } from "../text/json";
import { inThread } from "../thread/address";
import css from "./signal.module.css";

/** Awaited is a signal that a thread waits for, with the gate that waits. */
export type Awaited = { gate: string; signal: string };

type Props = { open: boolean; thread: string; awaited: Awaited[]; close: () => void };

/** SendSignal takes the value of a signal and sends it. Nothing is shown as sent before the server has it on record. */
export const SendSignal = ({ open, ...rest }: Props) => (
  <Dialog open={open} close={rest.close} title="Send a signal" top>
    <Form {...rest} />
  </Dialog>
);

const nothing: Node = { kind: "text", source: "null" };

function Form({ thread, awaited, close }: Omit<Props, "open">) {
  const [chosen, choose] = useState(0);
  const { gate, signal } = awaited[chosen] ?? awaited[0] ?? { gate: "", signal: "" };
  const found = useGate(gate || undefined);
  const schema = useMemo(() => onRecord(found.data?.schema), [found.data]);
  const edit = useEdit(schema);
  // One key a signal: a request whose answer was lost is sent again, and counts once.
  const [key] = useState(() => crypto.randomUUID());
  const [state, setState] = useState<{ busy: boolean; error?: unknown }>({ busy: false });
  const ready = found.data !== undefined || found.isError;
  useEffect(() => {
    if (!ready) return;
    edit.begin(schema ? blank(schema) : nothing);
    if (!schema) edit.type("null");
  }, [ready, schema]);
  const wrong = edit.invalid();
  const send = async () => {
    if (state.busy || wrong || !edit.value) return;
    setState({ busy: true });
    try {
      const { path, query } = inThread(thread);
      const sent = await get(
        api.POST("/api/threads/{id}/signals/{signal}", {
          params: { path: { ...path, signal }, query, header: { "Idempotency-Key": `${key}-${chosen}` } },
          body: compact(edit.given() ?? nothing),
        }),
      );
      await queries.invalidateQueries({ queryKey: ["live"] });
      announce(`The signal is on record as entry ${sent.seq}`);
      close();
    } catch (error) {
      setState({ busy: false, error });
    }
  };
  return (
    <form
      className={css.form}
      onSubmit={(e) => {
        e.preventDefault();
        void send();
      }}
      onKeyDown={(e) => {
        if (e.key !== "Enter" || !e.shiftKey) return;
        e.preventDefault();
        void send();
      }}
    >
      <h2>
        Send the signal <Said>{signal}</Said> to <Said>{thread}</Said>
      </h2>
      <p>It goes on record with your name, and the thread goes on with its value at once. It cannot be taken back.</p>
      {awaited.length > 1 && (
        <label>
          Signal
          <select value={chosen} onChange={(e) => choose(Number(e.target.value))}>
            {awaited.map((a, i) => (
              <option key={a.gate} value={i}>
                {a.signal}
              </option>
            ))}
          </select>
        </label>
      )}
      {edit.value && (
        <fieldset disabled={state.busy}>
          <legend>
            Its value{" "}
            {schema && edit.drawn() && (
              <Button tone="quiet" onClick={() => edit.showRaw(edit.raw === undefined)}>
                {edit.raw === undefined ? "JSON" : "Form"}
              </Button>
            )}
            {!schema && <span>JSON, sent exactly as it is written; text needs quotes</span>}
          </legend>
          <Named value={true}>
            <SchemaForm edit={edit} schema={schema} />
          </Named>
        </fieldset>
      )}
      {state.error !== undefined && (
        <Failure error={state.error} safe="Send it again: if it is on record already, it counts once." />
      )}
      <div className={css.buttons}>
        <Button onClick={close}>Back</Button>
        <Button type="submit" disabled={state.busy || wrong !== "" || !edit.value} hint="⇧↵">
          {state.busy ? "Sending" : "Send it"}
        </Button>
      </div>
    </form>
  );
}
