import type { UseQueryResult } from "@tanstack/react-query";
import { Link } from "wouter";
import { api, get, Problem, type Schemas } from "../api/client";
import { queries } from "../data/query";
import type { Letter } from "../data/workers";
import { Button } from "../parts/button";
import type { Delayed } from "../parts/delayed";
import { Empty, Failure, Skeleton } from "../parts/notice";
import { Hidden, Said } from "../parts/said";
import { Table } from "../parts/table";
import { Ago } from "../parts/time";
import { marked } from "../text/hidden";
import { wordsOf, type Words } from "./letter";
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
        { name: "Message" },
        { name: "Why", grow: true },
        { name: "Bytes", end: true },
        { name: "Came", end: true },
        { name: "", end: true },
      ]}
      rows={letters.map((l) => {
        const bytes = Uint8Array.from(atob(l.data ?? ""), (c) => c.codePointAt(0) ?? 0);
        const text = new TextDecoder().decode(bytes); // bytes that are no UTF-8 are shown as such
        const words = wordsOf(l, text, bytes.length);
        return {
          key: l.id,
          cells: [
            <span key="what">
              {words.before}
              <strong>
                <Said>{words.who}</Said>
              </strong>
              {words.after}
            </span>,
            <span key="why" className={css.why} title={l.reason}>
              <Said>{words.why}</Said>
            </span>,
            l.size.toLocaleString("en"),
            <Ago key="at" at={l.at} />,
            <Acts key="acts" letter={l} words={words} delayed={delayed} />,
          ],
          below: <Data letter={l} words={words} text={text} kept={bytes.length} />,
        };
      })}
    />
  );
}

const most = 600;

/** Data says what a letter means for its task, and shows the beginning of it. */
const Data = ({ letter, words, text, kept }: { letter: Letter; words: Words; text: string; kept: number }) => (
  <div className={css.data}>
    <p>
      {words.so}{" "}
      {words.gate && (
        <Link href={`/gates/${encodeURIComponent(words.gate)}`} className={css.task}>
          Its task
        </Link>
      )}
    </p>
    {text && (
      <code>
        <Said>{text.slice(0, most)}</Said>
      </code>
    )}
    <p>
      sent to <Said>{letter.subject}</Said>
      {kept < letter.size && `; of its bytes the first ${kept.toLocaleString("en")} are kept`}
    </p>
    <Hidden texts={[text.slice(0, most), words.who, letter.subject]} />
  </div>
);

const again = () => queries.invalidateQueries({ queryKey: ["letters"] });

function Acts({ letter, words, delayed }: { letter: Letter; words: Words; delayed: Delayed }) {
  const key = `letter ${letter.id}`;
  const params = { path: { id: letter.id } };
  const of = `the message that ${marked(words.before + words.who)}${words.after}`;
  return (
    <span className={css.acts}>
      {words.again && (
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
        title="this message is taken out for good; no task changes by that"
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
