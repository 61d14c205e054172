import { Check, Link2, TriangleAlert, X } from "lucide-react";
import { useState, type ReactNode } from "react";
import { Problem } from "../src/api/client";
import { Button } from "../src/parts/button";
import { Card, Note } from "../src/parts/card";
import { Chip } from "../src/parts/chip";
import { Dialog } from "../src/parts/dialog";
import { Differing } from "../src/parts/difference";
import { Id } from "../src/parts/id";
import { Key } from "../src/parts/key";
import { Empty, Ended, Failure, Skeleton } from "../src/parts/notice";
import { Hidden, Said } from "../src/parts/said";
import { Menu } from "../src/parts/menu";
import { Pill } from "../src/parts/pill";
import { Panes, Tabs } from "../src/parts/tabs";
import { Ago, At } from "../src/parts/time";
import { Inline, Value } from "../src/parts/value";
import { diff } from "../src/text/diff";
import { read } from "../src/text/json";

export type Part = { name: string; about: string; states: [string, ReactNode][] };

const hostile = 'pay \u202e00.52 RUE\u202c to <b onclick="x()">Acme</b>\u200b';
const order = '{"id":"PO-4471","account":9007199254740993,"amount":980.00,"paid":false,"note":null}';
const edited = '{"id":"PO-4471","account":9007199254740993,"amount":1250.00,"paid":false,"by":"alice"}';
const lines = JSON.stringify(Array.from({ length: 40 }, (_, i) => ({ item: `part ${i + 1}`, count: i })));

const states = [
  ...["open", "running", "done", "failed", "rejected", "forked", "ready", "cancelled", "expired", "superseded"],
  ...["released", "executed", "unknown", "archived"],
];

/** parts are the parts of src/parts with their states. */
export const parts: Part[] = [
  {
    name: "Button",
    about: "does one thing at once; only Approve is green",
    states: [
      ["plain", <Button>Link</Button>],
      ["with an icon", <Button icon={<Link2 size={16} strokeWidth={1.5} aria-hidden />}>Link</Button>],
      [
        "approve",
        <Button tone="go" icon={<Check size={16} aria-hidden />} hint="a">
          Approve
        </Button>,
      ],
      [
        "danger",
        <Button tone="danger" icon={<X size={16} aria-hidden />} hint="r">
          Reject
        </Button>,
      ],
      ["quiet", <Button tone="quiet">JSON</Button>],
      ["disabled", <Button disabled>Loading</Button>],
    ],
  },
  {
    name: "Chip",
    about: "a state: its colour, icon and word",
    states: states.map((s) => [s, <Chip key={s} state={s} also={s === "open" ? "2 h left" : undefined} />]),
  },
  {
    name: "Said",
    about: "text of programs and models, and only this part shows it",
    states: [
      ["plain", <Said>Pay 980.00 EUR to Acme GmbH?</Said>],
      ["hostile", <Said>{hostile}</Said>],
      ["its warning", <Hidden texts={[hostile]} />],
      ["lines", <Said lines>{"Order 1008\n  two rolls\n  one lamp"}</Said>],
    ],
  },
  {
    name: "Value",
    about: "a value as it is on record",
    states: [
      ["object", <Value node={read(order)} />],
      ["list of objects", <Value node={read(lines)} />],
      ["long text", <Value node={read(JSON.stringify("a long line ".repeat(400)))} />],
      ["text like a number", <Value node={read('"980.00"')} />],
      ["empty", <Value node={read("{}")} />],
      ["in a line", <Inline node={read(order)} max={60} />],
    ],
  },
  {
    name: "Differing",
    about: "where two values differ",
    states: [
      ["members", <Differing diff={diff(read(order), read(edited))} />],
      ["equal", <Differing diff={diff(read(order), read(order))} />],
    ],
  },
  {
    name: "Card",
    about: "one thing under its name",
    states: [
      [
        "with a note",
        <Card title="What you approve" also="5 members">
          <Value node={read(order)} />
          <Note icon={<TriangleAlert size={14} strokeWidth={1.5} aria-hidden />}>What is asked changed.</Note>
        </Card>,
      ],
    ],
  },
  {
    name: "Id, Key, times",
    about: "shortened in the middle, whole on hover, copied by a click",
    states: [
      ["id", <Id>gate-01a218d1-f578-7001-b101-72f9380240e9</Id>],
      ["name", <Id>invoice-8841</Id>],
      ["key", <Key>Ctrl K</Key>],
      ["ago", <Ago at="2026-01-01T12:00:00Z" />],
      ["at", <At at="2026-01-01T12:00:00Z" />],
    ],
  },
  {
    name: "Pill",
    about: "narrows a list to something, with how much of it there is",
    states: [
      [
        "off",
        <Pill href="/parts/?failed" on={false} count="1,000+">
          Failed
        </Pill>,
      ],
      [
        "on",
        <Pill href="/parts/" on>
          All
        </Pill>,
      ],
    ],
  },
  {
    name: "Menu",
    about: "a small panel below its button",
    states: [["closed", <Menu name="Columns">{() => <p>what is chosen here</p>}</Menu>]],
  },
  { name: "Tabs, Panes", about: "places of a screen, views of one thing", states: [["tabs", <TabsHere />]] },
  {
    name: "Notices",
    about: "what a screen says where there is nothing, not yet, or an error",
    states: [
      [
        "empty",
        <Empty title="Nothing waits for you" command="posthouse run start refund @order.json">
          A program that asks for an approval stops here until somebody decides.
        </Empty>,
      ],
      ["loading", <Skeleton rows={3} height={36} />],
      [
        "error",
        <Failure
          error={
            new Problem({ code: "unavailable", detail: "the server cannot be reached", hint: "it is tried again" })
          }
          safe="What waits stays on record."
        />,
      ],
      ["logged out", <Ended safe="Nothing was sent." />],
    ],
  },
  { name: "Dialog", about: "the browser's own: Esc closes it, and focus stays inside", states: [["", <DialogHere />]] },
];

function TabsHere() {
  const [on, show] = useState("change");
  return (
    <>
      <Tabs
        label="places"
        tabs={[
          { name: "For me", href: "/parts/", on: true, count: "14" },
          { name: "Decided", href: "/parts/?show=decided", on: false },
        ]}
      />
      <Panes
        label="views"
        on={on}
        show={show}
        panes={["change", "state", "step"].map((name) => ({ name, title: name }))}
      />
    </>
  );
}

function DialogHere() {
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button onClick={() => setOpen(true)}>Open</Button>
      <Dialog open={open} close={() => setOpen(false)} title="A dialog">
        <p>It closes with Esc, and by a click beside it.</p>
      </Dialog>
    </>
  );
}
