import { Link } from "wouter";
import { usePrograms } from "../data/threads";
import { Card } from "../parts/card";
import { Said } from "../parts/said";
import { at, beginCommand } from "../programs/begin";
import { onRecord } from "../text/json";
import css from "./overview.module.css";

type Step = { name: string; says: string; command: string; link?: { to: string; text: string } };

/** useSteps are those of an empty store, with commands that work on this server as they are written. */
function useSteps(): Step[] {
  const programs = usePrograms();
  const first = programs.data?.find((p) => p.starts);
  const here = at(location.origin);
  const write = {
    name: "Have something to run",
    says: "A program is a graph or a flow in Go. This writes one with a model, a tool and an approval:",
    command: "posthouse init my-agent && cd my-agent && posthouse dev",
  };
  return [
    ...(first || programs.isPending ? [] : [write]),
    {
      name: first ? `Begin a run of ${first.name}` : "Begin a run",
      says: "Its input is on record before the answer comes.",
      command: first
        ? beginCommand(first.name, onRecord(first.input), location.origin)
        : `posthouse program list${here}`,
      link: first
        ? { to: `/programs/${encodeURIComponent(first.name)}`, text: "Start it here" }
        : { to: "/programs", text: "Programs" },
    },
    {
      name: "Decide what it asks",
      says: "It waits in the inbox, for a minute or a month. Nothing is held meanwhile.",
      command: `posthouse inbox${here}`,
      link: { to: "/", text: "Inbox" },
    },
    {
      name: "See that the record is whole",
      says: "Every hash, the chain and the signatures, here or offline.",
      command: "posthouse verify",
      link: { to: "/proof", text: "Verify here" },
    },
  ];
}

/** FirstSteps says what to do with an empty store. */
export const FirstSteps = () => (
  <div className={css.first}>
    <Card title="First steps" also="the store is empty">
      <ol className={css.steps}>
        {useSteps().map((s, i) => (
          <li key={s.name}>
            <span className={css.number}>{i + 1}</span>
            <div>
              <h3>
                <Said>{s.name}</Said>
              </h3>
              <p>
                {s.says} {s.link && <Link href={s.link.to}>{s.link.text}</Link>}
              </p>
              <code>
                <Said>{s.command}</Said>
              </code>
            </div>
          </li>
        ))}
      </ol>
      <p className={css.foot}>
        A command finds this server's token where its data is: add the <code>--data-dir</code> or{" "}
        <code>--token-file</code> that the server was started with, if any. To look around first,{" "}
        <code>posthouse dev --demo</code> serves a week that was made up. The <a href="/docs">documentation</a> begins
        with a quickstart.
      </p>
    </Card>
  </div>
);
