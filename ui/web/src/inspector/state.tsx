import { useState } from "react";
import { bytes, useCheckpoint } from "../data/checkpoints";
import { Button } from "../parts/button";
import { Fold } from "../parts/fold";
import { Skeleton } from "../parts/notice";
import { Hidden } from "../parts/said";
import { Unreadable, WhyUnread } from "../parts/unread";
import { Value } from "../parts/value";
import { binaryOf } from "../text/unread";
import { onRecord, pretty, stringOf, texts } from "../text/json";
import { Line } from "./change";
import type { PaneProps } from "./inspector";
import css from "./inspector.module.css";

/** A larger state is read when it is asked for. */
export const maxRead = 1024 * 1024;
const maxJSON = 200_000;

/** StateTab shows a state as it is on record: a row a part, or the whole of it as JSON. */
export function StateTab({ at }: PaneProps) {
  const [asked, setAsked] = useState(false);
  const [json, setJSON] = useState(false);
  const wanted = asked || at.size <= maxRead;
  const state = useCheckpoint(at.id, wanted);
  const node = onRecord(state.data?.state);
  const codecs = state.data?.codecs ?? {};
  const sizes = new Map((state.data?.parts ?? []).map((p) => [p.name, p.size]));
  const metadata = Object.entries(state.data?.metadata ?? {});
  const opaque = sizes.size === 1 && sizes.has("state");
  return (
    <>
      <div className={css.head}>
        <h2 className={css.title}>
          State at #{at.seq} <span>{bytes(at.size)}</span>
        </h2>
        {node && (
          <span className={css.tools}>
            <Button tone="quiet" aria-pressed={json} onClick={() => setJSON(!json)}>
              {json ? "Rows" : "JSON"}
            </Button>
            <Copy text={String(state.data?.state ?? "")} />
          </span>
        )}
      </div>
      {!wanted && (
        <p className={css.quiet}>
          It is large. <Button onClick={() => setAsked(true)}>Read {bytes(at.size)}</Button>
        </p>
      )}
      {wanted && state.isPending && <Skeleton rows={6} height={28} />}
      {state.error && (
        <WhyUnread error={state.error} safe="What the entry says of the checkpoint is in the tab Entry." />
      )}
      <Hidden texts={texts(node)} />
      {node && json && <JSONText text={pretty(node)} />}
      {node && !json && (
        <div className={css.lines} role="list" aria-label="parts of the state">
          {node.kind === "object" ? (
            node.members.map((m, i) => (
              <Line key={i} name={m.name}>
                {codecs[m.name] && !opaque ? (
                  <Binary codec={codecs[m.name] ?? ""} size={sizes.get(m.name)} text={stringOf(m.value) ?? ""} />
                ) : (
                  <Value node={m.value} />
                )}
              </Line>
            ))
          ) : (
            <Line name="state">
              {codecs.state ? (
                <Binary codec={codecs.state} size={sizes.get("state")} text={stringOf(node) ?? ""} />
              ) : (
                <Value node={node} />
              )}
            </Line>
          )}
          {node.kind === "object" && node.members.length === 0 && <p className={css.quiet}>It is empty.</p>}
        </div>
      )}
      {metadata.length > 0 && (
        <>
          <h3 className={css.title}>Metadata</h3>
          {metadata.map(([name, text]) => (
            <Line key={name} name={name}>
              <Value node={onRecord(JSON.stringify(text)) ?? { kind: "text", source: '""' }} />
            </Line>
          ))}
        </>
      )}
    </>
  );
}

/** Binary says of a part that is no JSON how it is encoded, and shows its bytes as base64. */
const Binary = ({ codec, size, text }: { codec: string; size: number | undefined; text: string }) => (
  <>
    <Unreadable of={binaryOf(codec, bytes(size ?? 0))} />
    {text.length <= 120 ? (
      <code className={css.base64}>{text}</code>
    ) : (
      <Fold
        first={<code className={css.base64}>{text.slice(0, 120)}</code>}
        rest={() => <code className={css.base64}>{text}</code>}
        size={`${text.length.toLocaleString("en")} characters`}
      />
    )}
  </>
);

function JSONText({ text }: { text: string }) {
  if (text.length <= maxJSON) return <pre className={css.json}>{text}</pre>;
  return (
    <Fold
      first={<pre className={css.json}>{text.slice(0, maxJSON)}…</pre>}
      rest={() => <pre className={css.json}>{text}</pre>}
      size={`${text.length.toLocaleString("en")} characters`}
    />
  );
}

export function Copy({ text }: { text: string }) {
  const [copied, setCopied] = useState(false);
  return (
    <Button
      tone="quiet"
      onClick={() => {
        void navigator.clipboard?.writeText(text).then(() => setCopied(true));
      }}
    >
      {copied ? "Copied" : "Copy"}
    </Button>
  );
}
