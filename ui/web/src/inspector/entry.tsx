import { useEntry, useVerdict, type Entry } from "../data/entry";
import { bytes, useCheckpoint } from "../data/checkpoints";
import { Fold } from "../parts/fold";
import { Id } from "../parts/id";
import { Failure, Skeleton } from "../parts/notice";
import { Said } from "../parts/said";
import { At } from "../parts/time";
import { Verdict } from "../parts/verdict";
import { signerOf } from "../text/proof";
import { Copy, maxRead } from "./state";
import { Trace } from "./trace";
import type { PaneProps } from "./inspector";
import css from "./entry.module.css";
import frame from "./inspector.module.css";

/** EntryTab shows the entry of the log that holds a checkpoint, and checks it in this browser. */
export function EntryTab({ at }: PaneProps) {
  const entry = useEntry(at.thread, at.seq);
  const found = useVerdict(entry.data, {
    kind: "checkpoint",
    of: { id: at.id },
    head: { was: at.kind, parent: at.parentId ?? "", branch: at.branch },
  });
  const { traceId, traceUrl } = useCheckpoint(at.id, at.size <= maxRead).data ?? {};
  if (entry.error) return <Failure error={entry.error} />;
  if (!entry.data) return <Skeleton rows={8} height={28} />;
  const e = entry.data;
  const signer = signerOf(e.signature);
  const cover = e.next.find((n) => n.signature);
  const rows: [string, React.ReactNode][] = [
    ["generation", `${e.generation}`],
    ["made", e.at ? <At at={e.at} /> : "its header cannot be read"],
    ["hash", <Id whole>{e.hash}</Id>],
    ["previous", e.prev ? <Id whole>{e.prev}</Id> : "none, it is the first"],
    [
      "signature",
      signer && e.signature ? <Id>{e.signature}</Id> : cover ? `its own is none; #${cover.seq} covers it` : "none yet",
    ],
    ["signer", signer ? <Id whole>{signer}</Id> : cover?.signature && <Id whole>{signerOf(cover.signature) ?? ""}</Id>],
    ["checkpoint", <Id whole>{at.id}</Id>],
    ["kind", at.kind],
    ["trace", traceId && <Trace id={traceId} at={traceUrl} />],
    ["parent", at.parentId ? <Id whole>{at.parentId}</Id> : "none"],
  ];
  return (
    <>
      <h2 className={frame.title}>
        Entry #{e.seq} <span>{e.size.toLocaleString("en")} bytes</span>
      </h2>
      <Verdict found={found} seq={e.seq} />
      <dl className={css.rows}>
        {rows
          .filter(([, v]) => v)
          .map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
      </dl>
      <Records entry={e} />
      <Labels labels={at.labels} />
      <div className={frame.head}>
        <h3 className={frame.title}>Header, base64</h3>
        <Copy text={e.header} />
      </div>
      <Fold
        first={<code className={frame.base64}>{e.header.slice(0, 240)}</code>}
        rest={() => <code className={frame.base64}>{e.header}</code>}
        size={`${e.header.length.toLocaleString("en")} characters`}
      />
    </>
  );
}

const Records = ({ entry }: { entry: Entry }) => (
  <>
    <h3 className={frame.title}>Records</h3>
    <table className={css.records}>
      <thead>
        <tr>
          <th scope="col">kind</th>
          <th scope="col">size</th>
          <th scope="col">SHA-256</th>
        </tr>
      </thead>
      <tbody>
        {entry.records.slice(0, 100).map((r, i) => (
          <tr key={i}>
            <td>{r.kind}</td>
            <td>
              {r.size === 0 ? "no body" : bytes(r.size)}
              {r.sealed && ", encrypted: read with the store's keys"}
              {r.missing && ", removed: its hash alone is left"}
            </td>
            <td>{r.hash ? <Id>{r.hash}</Id> : "in the header"}</td>
          </tr>
        ))}
      </tbody>
    </table>
    {entry.records.length > 100 && <p className={frame.quiet}>and {entry.records.length - 100} more</p>}
  </>
);

function Labels({ labels }: { labels: Record<string, string> | undefined }) {
  const all = Object.entries(labels ?? {});
  if (all.length === 0) return null;
  return (
    <>
      <h3 className={frame.title}>Labels</h3>
      <dl className={css.rows}>
        {all.map(([name, value]) => (
          <div key={name}>
            <dt>
              <Said>{name}</Said>
            </dt>
            <dd>
              <Said>{value}</Said>
            </dd>
          </div>
        ))}
      </dl>
    </>
  );
}
