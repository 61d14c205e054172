import { BellOff, BellRing, Clock } from "lucide-react";
import type { ReactNode } from "react";
import type { Told } from "../data/told";
import { Said } from "../parts/said";
import { Ago, At, length, useNow } from "../parts/time";
import css from "./told.module.css";

const most = 4;

/** The order in which endpoints are shown: those that failed first. */
const order: Told["state"][] = ["givenUp", "stopped", "retrying", "waiting", "unknown", "earlier", "told", "passed"];

/** The states of which it is known that the receiver did not take it. */
const untold: Told["state"][] = ["givenUp", "stopped", "retrying", "waiting", "earlier"];

/** isUnheard says whether it is known that no endpoint was told of an event, and people did not hear of it. */
export const isUnheard = (of: Told[]) => of.length > 0 && of.every((t) => untold.includes(t.state) && !t.to?.length);

/** isFailing says whether that is because telling failed, and not for the moment that it takes. */
export const isFailing = (of: Told[]) => of.some(isBad);

const isBad = (t: Told) =>
  t.state === "givenUp" ||
  t.state === "stopped" ||
  t.state === "retrying" ||
  (t.state === "waiting" && t.failing !== undefined);

/** Tellings say which endpoints were told of an event, when, and why others were not. */
export function Tellings({ of }: { of: Told[] }) {
  const all = [...of].sort((a, b) => order.indexOf(a.state) - order.indexOf(b.state));
  return (
    <>
      {all.slice(0, most).map((t) => (
        <Telling key={t.endpoint + t.event} of={t} />
      ))}
      {all.length > most && (
        <details className={css.rest}>
          <summary>and {all.length - most} more endpoints</summary>
          {all.slice(most).map((t) => (
            <Telling key={t.endpoint + t.event} of={t} />
          ))}
        </details>
      )}
    </>
  );
}

function Telling({ of }: { of: Told }) {
  const bad = isBad(of);
  const Icon = of.state === "told" ? BellRing : bad ? BellOff : Clock;
  return (
    <div className={bad ? `${css.line} ${css.bad}` : css.line}>
      <Icon size={12} strokeWidth={1.75} aria-hidden />
      <span>
        <b>
          <Said>{of.endpoint}</Said>
        </b>{" "}
        (<Said>{of.kind}</Said>): <Went of={of} />
      </span>
    </div>
  );
}

/** Went says how it stands with telling an endpoint, in words. */
function Went({ of }: { of: Told }) {
  const now = useNow();
  const names = [...(of.to ?? []), ...(of.others ? [`${of.others} more`] : [])].join(", ");
  const tries = `${of.attempts ?? 1} ${of.attempts === 1 ? "attempt" : "attempts"}`;
  const only = names ? <Said>{`told ${names} only`}</Said> : "not told";
  const why: ReactNode = of.error ? (
    <>
      : <Said>{of.error}</Said>
    </>
  ) : of.status ? (
    `: it answered ${of.status}`
  ) : (
    ""
  );
  switch (of.state) {
    case "told":
      return (
        <>
          told {names && <Said>{names}</Said>} {of.at && <At at={of.at} />}
          {(of.attempts ?? 1) > 1 && `, after ${tries}`}
        </>
      );
    case "retrying":
      return (
        <>
          {only}, {tries} failed{why}
          {of.next && `; tried again ${soon(of.next, now)}`}
        </>
      );
    case "waiting":
      return of.failing ? (
        <>
          not told yet, it takes nothing since <Ago at={of.failing} />
          {why}
        </>
      ) : (
        "not told yet"
      );
    case "stopped":
      return <>not told, its receiver wants no more messages{why}</>;
    case "givenUp":
      return (
        <>
          {only}, given up after {tries}
          {why}
        </>
      );
    case "passed":
      return "there was nothing to send, or nobody to send it to";
    case "earlier":
      return "not told, it was set up later";
    default:
      return "not known any more whether it was told";
  }
}

function soon(at: string, now: number): string {
  const ms = Date.parse(at) - now;
  return ms < 10_000 ? "in seconds" : `in ${length(ms)}`;
}
