import { Link } from "wouter";
import { useFaults, type Fault, type Verification } from "../data/proof";
import { Button } from "../parts/button";
import { named } from "../parts/id";
import { Failure, Skeleton } from "../parts/notice";
import { Said } from "../parts/said";
import css from "./proof.module.css";

const damaged =
  "Keep a copy of the store as it is, and write nothing more to it. Then restore the newest backup that verifies.";
const turned =
  "The store was put back, or its log was written anew. Compare it with the newest backup, and find out who could write to it.";
const signed = "Compare the key with the ones you keep elsewhere. If it is yours, add it to the file of public keys.";
const derived =
  "The log is whole; what lists read from it is not. Copy the store: posthouse store copy makes both again.";

/** advice says what to do about a fault of a kind. */
const advice: Record<Fault["kind"], string> = {
  hash: damaged,
  body: damaged,
  missing: damaged,
  chain: damaged,
  format: damaged,
  record: damaged,
  store: damaged,
  summary: derived,
  index: derived,
  signature: signed,
  "unknown-key": signed,
  "key-time": signed,
  unsigned:
    "A process without the key wrote this. Give every process that writes the key, or say which may do without.",
  grant: "Something acted without an approval. Look at the thread, and make the step propose before it acts.",
  rewound: turned,
  forked: turned,
  vanished: turned,
};

const few = 3; // shown of many that are of one kind
const step = 100;

type Kind = NonNullable<Verification["faultKinds"]>[number];

/** Faults shows what is wrong, in red and by kind, and what to do about it. */
export function Faults({ of }: { of: Verification }) {
  const kinds = of.faultKinds ?? [];
  const all = kinds.reduce((sum, k) => sum + k.count, 0);
  if (all === 0) return null;
  return (
    <section className={css.faults} aria-label="faults">
      <h2>{all === 1 ? "One fault" : `${all.toLocaleString("en")} faults`}</h2>
      {kinds.map((k) => (
        <OfKind key={k.kind} verification={of.id} kind={k} />
      ))}
      <p className={css.advice}>
        Every step of a recovery is in the <a href="/docs">documentation</a>, under restore.
      </p>
    </section>
  );
}

/** OfKind shows the faults of a kind: all of a few, the first of many, and a hundred more each time. */
function OfKind({ verification, kind }: { verification: string; kind: Kind }) {
  const many = kind.count > 10;
  const read = useFaults(verification, kind.kind, many ? few : 10);
  const faults = read.data?.pages.flatMap((p) => p.items) ?? [];
  const left = kind.count - faults.length;
  return (
    <>
      {many && (
        <h3 className={css.fault}>
          {kind.count.toLocaleString("en")} × <b>{kind.kind}</b>
          {kind.message && <Said>{kind.message}</Said>}
        </h3>
      )}
      {read.isPending && <Skeleton rows={Math.min(few, kind.count)} height={24} />}
      {read.error && <Failure error={read.error} />}
      <ul>
        {faults.map((f, i) => (
          <li key={i} className={css.fault}>
            <b>{f.kind}</b>
            {f.thread && (
              <Link href={`/threads/${encodeURIComponent(f.thread)}`}>
                <Said>{named(f.thread)}</Said>
              </Link>
            )}
            {f.seq ? (
              <span>
                entry {f.seq}
                {f.through && f.through > f.seq ? ` to ${f.through}` : ""}
              </span>
            ) : null}
            <Said>{f.message}</Said>
          </li>
        ))}
      </ul>
      {left > 0 && read.hasNextPage && (
        <p className={css.line}>
          <Button disabled={read.isFetchingNextPage} onClick={() => void read.fetchNextPage()}>
            Show {Math.min(step, left)} more
          </Button>
          <span>
            {faults.length.toLocaleString("en")} of {kind.count.toLocaleString("en")}
          </span>
        </p>
      )}
      <p className={css.advice}>{advice[kind.kind as Fault["kind"]]}</p>
    </>
  );
}
