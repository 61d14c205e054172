import { Link } from "wouter";
import { Card } from "../parts/card";
import css from "./overview.module.css";

const steps = [
  {
    name: "Have something to run",
    says: "A program is a graph or a flow in Go. This writes one with a model, a tool and an approval:",
    command: "posthouse init my-agent && cd my-agent && posthouse dev",
  },
  {
    name: "Begin a run",
    says: "Its input is on record before the answer comes.",
    command: "posthouse run start PROGRAM --input '{}'",
  },
  {
    name: "Decide what it asks",
    says: "It waits in the inbox, for a minute or a month. Nothing is held meanwhile.",
    command: "posthouse inbox",
  },
  {
    name: "See that the record is whole",
    says: "Every hash, the chain and the signatures, here or offline.",
    command: "posthouse verify",
  },
];

/** FirstSteps says what to do with an empty store. */
export const FirstSteps = () => (
  <div className={css.first}>
    <Card title="First steps" also="the store is empty">
      <ol className={css.steps}>
        {steps.map((s, i) => (
          <li key={s.name}>
            <span className={css.number}>{i + 1}</span>
            <div>
              <h3>{s.name}</h3>
              <p>{s.says}</p>
              <code>{s.command}</code>
            </div>
          </li>
        ))}
      </ol>
      <p className={css.foot}>
        To look around first, <code>posthouse dev --demo</code> serves a week that was made up. The{" "}
        <a href="/docs">documentation</a> begins with a quickstart; what waits will be in the{" "}
        <Link href="/">inbox</Link>.
      </p>
    </Card>
  </div>
);
