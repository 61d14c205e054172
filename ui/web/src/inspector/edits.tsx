import { Link } from "wouter";
import { useGate, useGrant } from "../data/gates";
import { Differing } from "../parts/difference";
import { Hidden, Said } from "../parts/said";
import { At } from "../parts/time";
import { diff } from "../text/diff";
import { onRecord, texts } from "../text/json";
import { quoted } from "../text/quoted";
import { Line } from "./change";
import css from "./edits.module.css";
import frame from "./inspector.module.css";

/** So many questions of one checkpoint are looked at. */
const most = 20;

/** Edits shows what people changed in the questions that they answered: what was asked, and what was decided in its place. */
export const Edits = ({ gates }: { gates: string[] }) =>
  [...new Set(gates)].slice(0, most).map((id) => <Edit key={id} id={id} />);

function Edit({ id }: { id: string }) {
  const gate = useGate(id).data;
  const d = gate?.decision;
  const edited = d?.verdict === "edit";
  const grant = useGrant(edited ? id : undefined).data;
  if (!gate || !edited) return null;
  const asked = onRecord(gate.payload);
  const given = onRecord(d.value);
  const by = diff(asked, given);
  const labels = new Map(gate.binding.map((f) => [f.name, f.label]));
  const over = grant?.approval === "ended" && grant.uses.length === 0;
  return (
    <section className={css.edit} aria-label="edited question">
      <h3>
        <Said>{d.by}</Said> edited what was asked{over ? "" : ", and approved it so"}
      </h3>
      <p className={css.also}>
        <Link href={`/gates/${encodeURIComponent(id)}`}>
          <Said>{gate.intent}</Said>
        </Link>{" "}
        <At at={d.at} />
        {d.reason && (
          <>
            , <Said>{quoted(d.by, d.reason)}</Said>
          </>
        )}
      </p>
      {over && <p className={css.also}>Nothing ran under this decision: its approval ended unused.</p>}
      <Hidden texts={[...texts(asked), ...texts(given)]} />
      <p className={css.legend}>
        <del>− asked</del> <ins>+ {over ? "edited" : "approved"}</ins>
      </p>
      <div className={frame.lines} role="list" aria-label="members of the question">
        {by.kind === "object" ? (
          by.members.map((m, i) => (
            <Line key={i} name={labels.get(m.name) ?? m.name} changed={m.diff.kind !== "same"}>
              <Differing diff={m.diff} />
            </Line>
          ))
        ) : (
          <Line name="payload" changed={by.kind !== "same"}>
            <Differing diff={by} />
          </Line>
        )}
      </div>
    </section>
  );
}
