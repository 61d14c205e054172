import { BellOff } from "lucide-react";
import { Link } from "wouter";
import { useWebhooks, type Webhook } from "../data/settings";
import { Card } from "../parts/card";
import { Chip } from "../parts/chip";
import { Failure } from "../parts/notice";
import { Said } from "../parts/said";
import { Ago } from "../parts/time";
import css from "./overview.module.css";

const most = 5;

/** fails says whether people may wait for a message of an endpoint: it failed, and nothing was taken since. */
export const fails = (w: Webhook) =>
  w.state === "down" || w.state === "gone" || w.pending > 0 || (w.error?.failures ?? 0) > 0;

/** Failing names the endpoints that do not take what they are told. Only an operator may. */
export function Failing({ may }: { may: boolean }) {
  const list = useWebhooks(may);
  if (!may) return null;
  if (list.error) return <Failure error={list.error} />;
  const all = (list.data ?? []).filter(fails);
  if (all.length === 0) return null;
  return (
    <div className={css.failing}>
      <Card
        title={
          all.length === 1
            ? "An endpoint fails: people may not hear of questions"
            : `${all.length} endpoints fail: people may not hear of questions`
        }
        icon={<BellOff size={16} strokeWidth={1.5} aria-hidden />}
        also={<Link href="/settings?show=webhooks">settings</Link>}
        label="endpoints that fail"
      >
        <ul>
          {all.slice(0, most).map((w) => (
            <li key={w.name}>
              <b>
                <Said>{w.name}</Said>
              </b>{" "}
              ({w.kind}) <Chip state={w.state} />
              <span>{since(w)}</span>
              {w.error && (
                <span className={css.bad}>
                  <Said>{w.error.message}</Said>
                </span>
              )}
              <span>{waits(w)}</span>
            </li>
          ))}
          {all.length > most && <li>and {all.length - most} more, which the settings list</li>}
        </ul>
      </Card>
    </div>
  );
}

function since({ error, state }: Webhook) {
  if (!error?.failures) return state === "gone" ? "its receiver wants no more messages" : "others go through";
  return (
    <>
      {error.failures.toLocaleString("en")} {error.failures === 1 ? "attempt" : "attempts"} failed, the first{" "}
      <Ago at={error.since ?? error.at} />
    </>
  );
}

function waits({ pending, givenUp, state }: Webhook): string {
  const n = `${pending.toLocaleString("en")} ${pending === 1 ? "delivery waits" : "deliveries wait"}`;
  if (state === "down") return `${n}, and all that happened since`;
  if (state === "gone") return pending ? `${n}, and all that happened since` : "all that happened since waits";
  return pending ? n : `${givenUp.toLocaleString("en")} given up`;
}
