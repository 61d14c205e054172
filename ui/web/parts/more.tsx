// The parts that show lists, figures, proof, and what is loaded or goes wrong, with their states.

import { useEffect, useRef, useState, type ReactNode } from "react";
import { Problem } from "../src/api/client";
import type { Known } from "../src/data/people";
import { queries } from "../src/data/query";
import { Announced, announce } from "../src/parts/announce";
import { Boundary } from "../src/parts/boundary";
import { Bars, Line } from "../src/parts/chart";
import { Button } from "../src/parts/button";
import { Chip } from "../src/parts/chip";
import { ChoosePerson } from "../src/parts/choose-person";
import { DelayedActs, type Act, type Delayed } from "../src/parts/delayed";
import { Fold, Folds, useFolds } from "../src/parts/fold";
import { later } from "../src/parts/later";
import { Skeleton } from "../src/parts/notice";
import { Part, Quiet, Scroll } from "../src/parts/page";
import { Same } from "../src/parts/same";
import { Table } from "../src/parts/table";
import { Texts } from "../src/parts/texts";
import { Unreadable, WhyUnread } from "../src/parts/unread";
import { Verdict } from "../src/parts/verdict";
import { read } from "../src/text/json";
import type { Part as Entry } from "./states";

const act = (step: Act["step"], error?: unknown): Delayed => ({
  all: [{ key: step, what: "Retry transcribe", of: "task-call-2292", step, due: Date.now() + 4000, error }],
  begin: () => {},
  takeBack: () => {},
  busy: () => false,
});

const days = [0, 0, 1, 7, 7, 4, 10, 5].map((value, i) => ({ name: String(20 + i), value }));

const people: Known[] = [
  { name: "carol", decides: "yes", known: ["token", "decided"] },
  { name: "dana", decides: "yes", known: ["login"], barred: "dana has voted already" },
  { name: "erin", decides: "no", known: ["token"], why: "erin is a viewer" },
];
const unknown: Known = { name: "carl", decides: "unknown", known: [], why: "carl is not known here" };
queries.setQueryData(["people", ""], { items: people });
queries.setQueryData(["people", "", unknown.name], unknown);

/** PersonHere is the field with a name in it, judged once where that is sent. */
function PersonHere({ typed, sent }: { typed: string; sent?: boolean }) {
  const [name, setName] = useState(typed);
  const judge = useRef<() => string>(undefined);
  useEffect(() => {
    if (sent) judge.current?.();
  }, [sent]);
  return <ChoosePerson label="to" value={name} set={setName} judge={judge} risk="Your vote is lost." />;
}

const Never = later(() => new Promise<() => null>(() => {}), <Skeleton rows={2} height={36} />);

/** Breaks fails once it is shown, as a screen of an older server would. */
function Breaks(): never {
  throw new Problem({ code: "internal", detail: "the screen could not be drawn" });
}

function BreaksHere() {
  const [breaks, set] = useState(false);
  useEffect(() => set(true), []);
  return <Boundary at="/parts/">{breaks ? <Breaks /> : null}</Boundary>;
}

/** FoldsHere counts what is folded, as a question does before it can be approved. */
function FoldsHere() {
  const { folded, showAll, scope } = useFolds();
  return (
    <>
      <Folds scope={scope}>
        <Fold first="a long tex… " rest={() => <span>a long text</span>} size="4,000 characters" />
      </Folds>{" "}
      <Button onClick={showAll}>{folded} folded: show all</Button>
    </>
  );
}

const SaidAloud = () => (
  <>
    <Announced />
    <Button onClick={() => announce("It was sent.")}>Announce</Button>
  </>
);

const key = "5f2e9a44c1d07b36a1f9c3d2b4e5f607";

/** more are the parts that states does not have. */
export const more: Entry[] = [
  {
    name: "Table",
    about: "things of one kind; on a phone a row is a few lines with the columns' names",
    states: [
      [
        "rows",
        <Table
          label="queues of a sample"
          columns={[{ name: "Task" }, { name: "State" }, { name: "Input", grow: true }, { name: "Ready", end: true }]}
          rows={[
            { key: "a", cells: ["transcribe", <Chip state="failed" />, '{"call":2292}', 3], below: "its last words" },
            { key: "b", cells: ["wipe-tapes", <Chip state="ready" />, "", 0] },
          ]}
        />,
      ],
    ],
  },
  {
    name: "Part, Quiet, Scroll",
    about: "a list of a screen under its name, and a line in the place of one that has nothing",
    states: [
      [
        "both",
        <Scroll>
          <Part title="Queues" says="open tasks by name" end={<Button tone="quiet">All</Button>}>
            <Quiet>No task is open.</Quiet>
          </Part>
        </Scroll>,
      ],
    ],
  },
  {
    name: "Bars, Line",
    about: "a number a day above its bar, and the newest of a series",
    states: [
      ["bars", <Bars label="decisions of a sample" bars={days} />],
      ["line", <Line values={[0, 2, 3, 1, 8, 4, 4, 6]} room={8} />],
    ],
  },
  {
    name: "DelayedActs",
    about: "what is sent after five seconds, and what became of it",
    states: [
      ["waits", <DelayedActs delayed={act("waits")} />],
      ["sending", <DelayedActs delayed={act("sending")} />],
      ["done", <DelayedActs delayed={act("done")} />],
      [
        "refused",
        <DelayedActs
          delayed={act("refused", new Problem({ code: "conflict", detail: "the task was retried by bob" }))}
        />,
      ],
    ],
  },
  {
    name: "ChoosePerson",
    about: "a name of those that are known, and another one after a second confirmation",
    states: [
      ["empty", <PersonHere typed="" />],
      ["known", <PersonHere typed="carol" />],
      ["barred", <PersonHere typed="dana" />],
      ["not known", <PersonHere typed="carl" sent />],
    ],
  },
  {
    name: "Fold, Folds",
    about: "the first of something, and all of it after a click",
    states: [["folded", <FoldsHere />]],
  },
  {
    name: "Same, Texts",
    about: "what did not change in one line, and where two texts differ",
    states: [
      ["same", <Same node={read(JSON.stringify(Array.from({ length: 60 }, (_, i) => i)))} />],
      ["texts", <Texts a="Pay 980.00 EUR to Acme" b="Pay 1250.00 EUR to Acme" sources={["", ""]} />],
    ],
  },
  {
    name: "Verdict",
    about: "what the check of an entry in this browser found",
    states: [
      ["checking", <Verdict found={undefined} seq={12} />],
      ["sound", <Verdict found={{ kind: "sound", key, by: 14, bodies: 2 }} seq={12} />],
      ["unsigned", <Verdict found={{ kind: "unsigned", bodies: 1 }} seq={12} />],
      ["broken", <Verdict found={{ kind: "broken", why: "entry #12 does not have its hash" }} seq={12} />],
      ["unchecked", <Verdict found={{ kind: "unchecked", why: "the page came without TLS" }} seq={12} />],
    ],
  },
  {
    name: "Unreadable, WhyUnread",
    about: "what cannot be read, why, and who could read it",
    states: [
      ...["encrypted", "removed", "damaged", "binary"].map((word): [string, ReactNode] => [
        word,
        <Unreadable of={{ word, why: "the value is not shown", who: "Who has the key reads it." }} />,
      ]),
      ["an error", <WhyUnread error={new Problem({ code: "unavailable", detail: "the store does not answer" })} />],
    ],
  },
  { name: "Announced", about: "what happened, to who does not see the screen", states: [["a click", <SaidAloud />]] },
  {
    name: "later, Boundary",
    about: "a part that is on its way, and one that could not be drawn",
    states: [
      ["loading", <Never />],
      ["failed", <BreaksHere />],
    ],
  },
];
