import { Link } from "wouter";
import { beat, useRate, type Status, type Waits } from "../data/overview";
import { Card } from "../parts/card";
import { Bars, Line } from "../parts/chart";
import { Chip } from "../parts/chip";
import { Said } from "../parts/said";
import { Ago } from "../parts/time";
import { bytes } from "../proof/found";
import css from "./overview.module.css";

const room = 60;

/** Activity draws decisions a day, and the commits of this process. */
export function Activity({ status, waits }: { status: Status | undefined; waits: Waits | undefined }) {
  const rates = useRate(status, room);
  const now = rates.at(-1);
  const days = lastDays(waits, 14);
  return (
    <div className={css.pair}>
      {days && (
        <Card
          title="Decisions a day"
          also={`${days.reduce((n, d) => n + d.value, 0)} in 14 days`}
          label="decisions a day"
        >
          <Bars label="decisions a day" bars={days} />
        </Card>
      )}
      <Card
        title="Commits"
        also={status && `${status.commits.toLocaleString("en")} since this process began`}
        label="commits"
      >
        <div className={css.rate}>
          <b>
            {now === undefined ? "…" : now < 10 ? now.toFixed(1) : Math.round(now).toLocaleString("en")}
            <span> commits/s</span>
          </b>
          <Line values={rates} room={room} />
          <span className={css.zero}>the last {(room * beat) / 60_000} minutes, as this page saw them</span>
        </div>
      </Card>
    </div>
  );
}

/** lastDays gives each of the last days its decisions, in UTC. */
function lastDays(waits: Waits | undefined, n: number) {
  if (!waits?.days) return undefined;
  const by = new Map(waits.days.map((d) => [d.day, d]));
  const end = Date.parse(waits.to);
  return Array.from({ length: n }, (_, i) => {
    const day = new Date(end - (n - 1 - i) * 86_400_000).toISOString().slice(0, 10);
    const of = by.get(day);
    return {
      name: String(Number(day.slice(8))),
      value: of?.decided ?? 0,
      title: `${day}: ${of?.decided ?? 0} decided, ${of?.expired ?? 0} expired`,
    };
  });
}

/** Store says what the store is, what it promises, and how large it is. */
export function Store({ status }: { status: Status | undefined }) {
  if (!status) return null;
  const { store } = status;
  const weak = store.weak ?? [];
  return (
    <Card title="Store" label="store" also={<Link href="/proof">verify it</Link>}>
      <dl className={css.facts}>
        <div>
          <dt>Kind</dt>
          <dd>
            <Said>{store.kind}</Said>
          </dd>
        </div>
        <div>
          <dt>Promise</dt>
          <dd>
            {weak.length > 0 ? (
              <>
                <Chip state="weak" />
                {weak.map((w) => (
                  <p key={w} className={css.bad}>
                    <Said>{w}</Said>
                  </p>
                ))}
              </>
            ) : (
              <Said>{store.promise}</Said>
            )}
          </dd>
        </div>
        {store.bytes !== undefined && (
          <div>
            <dt>Size</dt>
            <dd>{bytes(store.bytes)}</dd>
          </div>
        )}
        <div>
          <dt>Process</dt>
          <dd>
            began <Ago at={status.startedAt} />, holds {status.leases} {status.leases === 1 ? "lease" : "leases"},{" "}
            {status.streams} {status.streams === 1 ? "stream is" : "streams are"} open
          </dd>
        </div>
      </dl>
    </Card>
  );
}
