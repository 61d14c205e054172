import { useState } from "react";
import { api, get } from "../api/client";
import { now } from "../api/clock";
import { useWebhooks, type Webhook } from "../data/settings";
import { queries } from "../data/query";
import { Button } from "../parts/button";
import { Card } from "../parts/card";
import { Chip } from "../parts/chip";
import { Empty, Failure, Skeleton } from "../parts/notice";
import { Said } from "../parts/said";
import { Ago, exact } from "../parts/time";
import { Deliveries } from "./deliveries";
import css from "./settings.module.css";

/** Webhooks lists who is told what happens, how that went, and sends what happened once more. */
export function Webhooks() {
  const list = useWebhooks(true);
  if (list.error) return <Failure error={list.error} />;
  if (!list.data) return <Skeleton rows={4} height={64} />;
  if (list.data.length === 0)
    return (
      <Empty title="Nobody is told of anything" command="posthouse serve --notify endpoints.yaml">
        Webhooks, Slack and mail are named in a file. The page on webhooks of the documentation shows one.
      </Empty>
    );
  return (
    <div className={css.column}>
      {list.data.map((w) => (
        <Endpoint key={w.name} of={w} />
      ))}
    </div>
  );
}

const local = (d: Date) => new Date(d.getTime() - d.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);

const words: Record<Webhook["state"], string> = {
  new: "new",
  ok: "ok",
  retrying: "retrying",
  down: "down",
  gone: "gone",
};

function Endpoint({ of }: { of: Webhook }) {
  const [error, setError] = useState<unknown>();
  const [said, setSaid] = useState("");
  const [since, setSince] = useState<string>();
  const path = { path: { id: of.name } };
  const act = async (send: () => Promise<string>) => {
    setError(undefined);
    setSaid("");
    try {
      setSaid(await send());
      await queries.invalidateQueries({ queryKey: ["webhooks"] });
    } catch (e) {
      setError(e);
    }
  };
  const replay = async () => {
    const body = { since: new Date(since ?? "").toISOString() };
    await act(async () => {
      await get(api.POST("/api/webhooks/{id}/replay", { params: path, body }));
      setSince(undefined);
      return "It is under way.";
    });
  };
  const test = () =>
    act(async () => {
      const t = await get(api.POST("/api/webhooks/{id}/test", { params: path }));
      return t.delivered
        ? `The test was taken, in ${t.millis} ms.`
        : `The test was not taken: ${t.error ?? `it answered ${t.status ?? "nothing"}`}`;
    });
  return (
    <Card title={<Said>{of.name}</Said>} also={<Chip state={words[of.state]} />} label={`webhook ${of.name}`}>
      <dl className={css.facts}>
        <Fact name="Address">
          <Said>{of.address}</Said> ({of.kind})
        </Fact>
        <Fact name="Told of">{of.events?.length ? of.events.join(", ") : "everything"}</Fact>
        {of.decideFor && (
          <Fact name="Decides">
            for <Said>{of.decideFor}</Said>
          </Fact>
        )}
        <Fact name="Delivered">
          {of.delivered.toLocaleString("en")}
          {of.deliveredAt && (
            <>
              , the newest <Ago at={of.deliveredAt} />
            </>
          )}
        </Fact>
        {(of.pending > 0 || of.givenUp > 0) && (
          <Fact name="Not yet">
            {of.pending.toLocaleString("en")} wait for another attempt
            {of.next && `, the next at ${exact(of.next)}`}
            {of.givenUp > 0 && `; ${of.givenUp.toLocaleString("en")} were given up`}
          </Fact>
        )}
        {of.error && (
          <Fact name="Failed">
            <span className={css.bad}>
              <Said>{of.error.message}</Said>
            </span>{" "}
            <Ago at={of.error.at} />
            {of.error.failures > 1 && `, ${of.error.failures} times since the newest delivery`}
          </Fact>
        )}
        {of.replay && (
          <Fact name="Replay">
            since {exact(of.replay.from)}: {of.replay.ended ? "done" : "under way"}, {of.replay.sent} sent
            {of.replay.failed > 0 && `, ${of.replay.failed} given up`}
          </Fact>
        )}
      </dl>
      <Deliveries name={of.name} />
      {error !== undefined && <Failure error={error} />}
      {said && (
        <p className={css.quiet} role="status">
          <Said>{said}</Said>
        </p>
      )}
      {since === undefined ? (
        <p className={css.line}>
          <Button onClick={() => void test()}>Send a test</Button>
          <Button onClick={() => setSince(local(new Date(now() - 86_400_000)))}>Replay</Button>
          {(of.state === "gone" || of.pending > 0) && (
            <Button
              onClick={() =>
                void act(() => get(api.POST("/api/webhooks/{id}/resume", { params: path })).then(() => "It goes on."))
              }
            >
              Go on now
            </Button>
          )}
        </p>
      ) : (
        <form
          className={css.form}
          aria-label={`replay ${of.name}`}
          onSubmit={(e) => {
            e.preventDefault();
            void replay();
          }}
        >
          <p className={css.says}>
            What happened since then is sent once more. Messages have the ids that they had, so a receiver that has them
            can tell.
          </p>
          <div className={css.fields}>
            <label>
              Since
              <input
                autoFocus
                required
                type="datetime-local"
                value={since}
                onChange={(e) => setSince(e.target.value)}
              />
            </label>
            <Button type="submit" disabled={since === ""}>
              Replay from then
            </Button>
            <Button tone="quiet" onClick={() => setSince(undefined)}>
              Back
            </Button>
          </div>
        </form>
      )}
    </Card>
  );
}

const Fact = ({ name, children }: { name: string; children: React.ReactNode }) => (
  <div>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
);
