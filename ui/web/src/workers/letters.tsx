import type { UseQueryResult } from "@tanstack/react-query";
import { api, get, Problem, type Schemas } from "../api/client";
import { queries } from "../data/query";
import type { Letter } from "../data/workers";
import { Button } from "../parts/button";
import type { Delayed } from "../parts/delayed";
import { Empty, Failure, Skeleton } from "../parts/notice";
import { Hidden, Said } from "../parts/said";
import { Table } from "../parts/table";
import { Ago } from "../parts/time";
import css from "./workers.module.css";

type Props = { list: UseQueryResult<Schemas["LetterList"]>; delayed: Delayed; may: boolean };

/** Letters lists messages that could not be used, with the beginning of each. */
export function Letters({ list, delayed, may }: Props) {
  if (!may) return <Empty title="For operators">Only an operator reads dead letters.</Empty>;
  if (list.error instanceof Problem && list.error.code === "unsupported")
    return (
      <Empty title="No dead letters come here">
        Workers come to this server over HTTP, where a message that cannot be used is refused at once. Dead letters are
        of servers that workers reach over NATS.
      </Empty>
    );
  if (list.error) return <Failure error={list.error} />;
  if (!list.data) return <Skeleton rows={4} height={36} />;
  const letters = list.data.items;
  if (letters.length === 0)
    return (
      <Empty title="No dead letter">
        A message of a worker or an engine that does not parse, or is too large, is kept here with the reason. No task
        is lost with it.
      </Empty>
    );
  return (
    <Table
      label="dead letters"
      columns={[
        { name: "Subject" },
        { name: "Kind" },
        { name: "Why", grow: true },
        { name: "Bytes", end: true },
        { name: "Came", end: true },
        { name: "", end: true },
      ]}
      rows={letters.map((l) => ({
        key: l.id,
        cells: [
          <Said key="subject">{l.subject}</Said>,
          l.kind,
          <span key="why" className={css.why} title={l.reason}>
            <Said>{l.reason}</Said>
          </span>,
          l.size,
          <Ago key="at" at={l.at} />,
          <Acts key="acts" letter={l} delayed={delayed} />,
        ],
        below: l.data ? <Data text={text(l.data)} /> : undefined,
      }))}
    />
  );
}

/** text returns the beginning of a message. Bytes that are no UTF-8 are shown as such. */
const text = (base64: string) =>
  new TextDecoder().decode(Uint8Array.from(atob(base64), (c) => c.codePointAt(0) ?? 0)).slice(0, 600);

const Data = ({ text }: { text: string }) => (
  <div className={css.data}>
    <code>
      <Said>{text}</Said>
    </code>
    <Hidden texts={[text]} />
  </div>
);

const again = () => queries.invalidateQueries({ queryKey: ["letters"] });

function Acts({ letter, delayed }: { letter: Letter; delayed: Delayed }) {
  const key = `letter ${letter.id}`;
  const params = { path: { id: letter.id } };
  const of = `the letter to ${letter.subject}`;
  return (
    <span className={css.acts}>
      {letter.kind === "hint" && (
        <Button
          className={css.small}
          title="it goes to its queue once more"
          disabled={delayed.busy(key)}
          aria-label={`Retry: ${of}`}
          onClick={() =>
            delayed.begin({
              key,
              what: "Retry",
              of,
              send: () => get(api.POST("/api/dead-letters/{id}/replay", { params })).then(again),
            })
          }
        >
          Retry
        </Button>
      )}
      <Button
        tone="danger"
        className={css.small}
        title="it is taken out for good"
        disabled={delayed.busy(key)}
        aria-label={`Drop: ${of}`}
        onClick={() =>
          delayed.begin({
            key,
            what: "Drop",
            of,
            send: () => get(api.DELETE("/api/dead-letters/{id}", { params })).then(again),
          })
        }
      >
        Drop
      </Button>
    </span>
  );
}
