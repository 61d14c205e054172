import { ShieldAlert, ShieldCheck, ShieldQuestion, ShieldX } from "lucide-react";
import { useState } from "react";
import { api, get, type Schemas } from "../api/client";
import { queries } from "../data/query";
import { useSince, useThreadCount, useVerification, useVerifications, type Verification } from "../data/proof";
import { Button } from "../parts/button";
import { Chip } from "../parts/chip";
import { Failure, Skeleton } from "../parts/notice";
import { Part } from "../parts/page";
import { Said } from "../parts/said";
import { Table } from "../parts/table";
import { Ago, length } from "../parts/time";
import { Faults } from "./faults";
import { bytes, count, Found } from "./found";
import { afterwards, walked } from "./state";
import css from "./proof.module.css";

/** again reads the verifications once more: after one began or was cancelled. */
const again = () => queries.invalidateQueries({ queryKey: ["verifications"] });

/** begin has the server verify the store. */
export const begin = (body: Schemas["VerifyBody"]) => get(api.POST("/api/verifications", { body })).then(again);

/** Verify shows the newest verification, and begins another. */
export function Verify({ may }: { may: boolean }) {
  const list = useVerifications();
  const newest = list.data?.[0];
  const report = useVerification(newest);
  const [strict, setStrict] = useState(false);
  const [error, setError] = useState<unknown>();
  const act = (send: () => Promise<unknown>) => {
    setError(undefined);
    send().catch(setError);
  };
  if (list.error && !list.data) return <Failure error={list.error} />;
  if (!list.data) return <Skeleton rows={4} height={56} />;
  const running = newest?.state === "running";
  return (
    <>
      <section className={css.hero} aria-label="newest verification">
        <Verdict newest={newest} />
        {running && newest && <Progress of={newest} />}
        {error !== undefined && <Failure error={error} safe="The record was not touched." />}
        {may ? (
          <div className={css.line}>
            {running ? (
              <Button
                onClick={() =>
                  act(() =>
                    get(api.DELETE("/api/verifications/{id}", { params: { path: { id: newest?.id ?? "" } } })).then(
                      again,
                    ),
                  )
                }
              >
                Cancel
              </Button>
            ) : (
              <Button tone="strong" onClick={() => act(() => begin({ requireGrants: strict }))}>
                Verify now
              </Button>
            )}
            <label className={css.option}>
              <input
                type="checkbox"
                checked={strict}
                disabled={running}
                onChange={(e) => setStrict(e.target.checked)}
              />
              an effect that nobody approved is a fault
            </label>
          </div>
        ) : (
          <p className={css.quiet}>An operator begins a verification: it walks the whole store.</p>
        )}
      </section>
      {report.error && <Failure error={report.error} />}
      {report.data?.report && (
        <>
          <Faults of={report.data} />
          <Found report={report.data.report} of={report.data} />
        </>
      )}
      {list.data.length > 1 && <Earlier list={list.data.slice(1)} />}
    </>
  );
}

function Verdict({ newest }: { newest: Verification | undefined }) {
  const icon = { size: 28, strokeWidth: 1.5, "aria-hidden": true } as const;
  const since = useSince(newest).data;
  if (!newest)
    return (
      <Headline icon={<ShieldQuestion {...icon} />} tone="none" title="Not verified since this server started">
        A verification walks every thread: each hash, the chain, the signatures, and whether what lists show agrees with
        the log.
      </Headline>
    );
  const by = (
    <>
      by <Said>{newest.by}</Said>
      {newest.thread && (
        <>
          , of <Said>{newest.thread}</Said> alone
        </>
      )}
    </>
  );
  switch (newest.state) {
    case "running":
      return (
        <Headline icon={<ShieldQuestion {...icon} />} tone="now" title="Verifying">
          begun <Ago at={newest.startedAt} /> {by}
        </Headline>
      );
    case "done":
      if (newest.ok) {
        const later = since && afterwards(since);
        return (
          <Headline
            icon={later ? <ShieldQuestion {...icon} /> : <ShieldCheck {...icon} />}
            tone={later ? "none" : "good"}
            title={later ? "The record was whole" : "The record is whole"}
          >
            {count(newest.threads, "thread")} and {count(newest.entries, "entry", "entries")} verified{" "}
            <Ago at={newest.endedAt} /> {by}
            {later && <>; {later}</>}
          </Headline>
        );
      }
      return (
        <Headline icon={<ShieldX {...icon} />} tone="bad" title="The record has faults">
          found <Ago at={newest.endedAt} /> {by}, in {count(newest.entries, "entry", "entries")}
        </Headline>
      );
    case "failed":
      return (
        <Headline icon={<ShieldAlert {...icon} />} tone="bad" title="The verification could not go on">
          <Said>{newest.problem}</Said>
        </Headline>
      );
    case "cancelled":
      return (
        <Headline
          icon={<ShieldQuestion {...icon} />}
          tone="none"
          title={newest.problem ? "The store was not verified to its end" : "The verification was cancelled"}
        >
          {newest.problem ? <Said>{newest.problem}</Said> : <>after {count(newest.entries, "entry", "entries")}</>},{" "}
          {by}
        </Headline>
      );
  }
}

const Headline = ({
  icon,
  tone,
  title,
  children,
}: {
  icon: React.ReactNode;
  tone: "good" | "bad" | "now" | "none";
  title: string;
  children: React.ReactNode;
}) => (
  <div className={`${css.headline} ${css[tone]}`} role={tone === "bad" ? "alert" : "status"}>
    {icon}
    <div>
      <h2>{title}</h2>
      <p>{children}</p>
    </div>
  </div>
);

/** Progress counts what was walked, against how many threads the store has by now. */
function Progress({ of }: { of: Verification }) {
  const known = useThreadCount().data;
  const all = of.thread ? 1 : (known?.all ?? 0);
  const share = all >= of.threads && all > 0 && !known?.more ? of.threads / all : undefined;
  return (
    <div className={css.progress}>
      <progress max={1} value={share} aria-label="progress of the verification" />
      <span>
        {walked(of.threads, all, all > 0 && !known?.more)}, {count(of.entries, "entry", "entries")}, {bytes(of.bytes)}
      </span>
    </div>
  );
}

const Earlier = ({ list }: { list: Verification[] }) => (
  <Part title="Earlier" says="the newest 20 of this process; a restart forgets them">
    <Table
      label="earlier verifications"
      columns={[
        { name: "Began" },
        { name: "Result" },
        { name: "By", grow: true },
        { name: "Threads", end: true },
        { name: "Entries", end: true },
        { name: "Took", end: true },
      ]}
      rows={list.map((v) => ({
        key: v.id,
        cells: [
          <Ago key="at" at={v.startedAt} />,
          <Chip key="state" state={v.state === "done" ? (v.ok ? "verified" : "faults") : v.state} />,
          <Said key="by">{v.by}</Said>,
          v.threads.toLocaleString("en"),
          v.entries.toLocaleString("en"),
          v.endedAt ? length(Date.parse(v.endedAt) - Date.parse(v.startedAt)) : "",
        ],
      }))}
    />
  </Part>
);
