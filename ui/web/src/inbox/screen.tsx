import { ArrowLeft } from "lucide-react";
import { useEffect, useMemo, useRef, useState } from "react";
import { Link, useLocation, useSearch } from "wouter";
import type { Gate } from "../api/client";
import { countOf, inSession, useGate, useGates, useSessions, type Place, type Settled } from "../data/gates";
import { useDecides } from "../data/me";
import { more } from "../data/query";
import { outcomeOf } from "../gate/decide";
import { GateDetail } from "../gate/detail";
import { mayDecide } from "../gate/right";
import { isSnoozed } from "../gate/snoozed";
import { announce } from "../parts/announce";
import { Button } from "../parts/button";
import { later } from "../parts/later";
import { Empty, Failure, Skeleton } from "../parts/notice";
import { rove } from "../parts/rove";
import { Tabs } from "../parts/tabs";
import { useWidth } from "../parts/wide";
import { Bar } from "../shell/bar";
import { useKeys } from "../shell/keys";
import { List } from "./list";
import { grouped, Seen, type Group } from "./order";
import { together as splitOf } from "./together";
import css from "./screen.module.css";

const Beside = later(async () => (await import("./beside")).Beside);
const SetDetail = later(async () => (await import("./set")).SetDetail);
const Only = later(async () => (await import("./ends")).Only);
const Ends = later(async () => (await import("./ends")).Ends);

const places: { place: Place; name: string; show: string }[] = [
  { place: "mine", name: "For me", show: "" },
  { place: "open", name: "All open", show: "open" },
  { place: "decided", name: "Decided", show: "decided" },
];

const empties: Record<Place, { title: string; text: string }> = {
  mine: {
    title: "Nothing waits for you",
    text: "A program that asks for an approval stops here until somebody decides, for a minute or a month.",
  },
  open: {
    title: "Nothing waits",
    text: "A program that asks for an approval stops here until somebody decides, for a minute or a month.",
  },
  decided: {
    title: "Nothing is decided yet",
    text: "Decisions stay here, with who made them and what ran under each.",
  },
};

/** InboxScreen lists what waits for a decision, and shows one question of it. A viewer sees all that waits. */
export function InboxScreen() {
  const query = new URLSearchParams(useSearch());
  const decides = useDecides();
  const mine = decides ? places : places.slice(1);
  const place = mine.find((p) => p.show === (query.get("show") ?? "")) ?? mine[0]!;
  const settled: Settled = {
    state: (["expired", "withdrawn"] as const).find((s) => s === query.get("state")) ?? "decided",
    mine: query.get("by") === "me",
  };
  const question = query.get("question") ?? undefined;
  return (
    <InboxPlace
      key={`${place.place} ${settled.state} ${settled.mine} ${question ?? ""}`}
      question={question}
      places={mine}
      place={place.place}
      settled={settled}
      chosen={query.get("gate") ?? undefined}
      set={query.get("set") ?? undefined}
    />
  );
}

type Where = { settled?: Settled; question?: string | undefined; gate?: string; set?: string };

/** addressOf is where a place is shown, with a question or a set of it. question narrows it to those of a name. */
function addressOf(place: Place, { settled, question, gate, set }: Where = {}): string {
  const show = places.find((p) => p.place === place)?.show;
  const query = new URLSearchParams({
    ...(show ? { show } : {}),
    ...(place === "decided" && settled && settled.state !== "decided" ? { state: settled.state } : {}),
    ...(place === "decided" && settled?.mine ? { by: "me" } : {}),
    ...(question === undefined ? {} : { question }),
    ...(gate ? { gate } : {}),
    ...(set ? { set } : {}),
  }).toString();
  return query ? `/?${query}` : "/";
}

type PlaceProps = {
  places: typeof places;
  place: Place;
  settled: Settled;
  question: string | undefined;
  chosen: string | undefined;
  set: string | undefined;
};

function InboxPlace({ places, place, settled, question, chosen, set }: PlaceProps) {
  const [, go] = useLocation();
  const list = useGates(place, settled, { question });
  const sessions = useSessions();
  const seen = useRef(new Seen());
  const [moved, setMoved] = useState(0);
  const { groups, flat, gone } = useMemo(() => {
    const waiting = place === "decided" ? [] : (sessions.data ?? []);
    const mine = place === "mine" ? waiting.filter(mayDecide) : waiting;
    const read = [...mine, ...(list.data?.pages ?? []).flatMap((p) => p.items)];
    const { gates, gone } = place === "decided" ? { gates: read, gone: new Set<string>() } : seen.current.merge(read);
    const groups = grouped(gates, place === "decided", seen.current.rankOf);
    return { groups, flat: groups.flatMap((g) => g.gates), gone };
  }, [list.data, sessions.data, place, moved]);
  const hovered = useRef(false);
  const rows = useRef<HTMLDivElement>(null);
  // Nothing moves under a pointer that is over the list, and nothing at all until the reader moves.
  const move = () => !hovered.current && seen.current.settle() && setMoved((n) => n + 1);
  useEffect(() => void move(), [chosen]);
  const wide = useWidth(900);
  const vast = useWidth(1920);
  const auto = useRef<string>(undefined); // what was selected without anybody's doing: it stays
  const found = flat.find((g) => g.id === (chosen ?? auto.current));
  const together = groups.find((g) => g.name === set);
  const other = useGate(chosen, chosen !== undefined && found === undefined && !list.isPending);
  const gate: Gate | undefined =
    together || (chosen === undefined && !wide)
      ? undefined
      : (found ?? (chosen === undefined ? flat[0] : chosen === other.data?.id ? other.data : undefined));
  if (chosen === undefined && !together) auto.current = gate?.id;
  const address = (id: string) => addressOf(place, { settled, question, gate: id });
  const nth = (g: Gate) => `${flat.indexOf(g) + 1} of ${flat.length}${list.hasNextPage ? "+" : ""}`;
  const step = (by: number) => {
    const next = flat[Math.min(flat.length - 1, Math.max(0, flat.indexOf(gate as Gate) + by))];
    if (!next) return;
    announce(nth(next)); // the row that has the focus says the rest
    rows.current?.querySelector<HTMLElement>(`[data-gate="${CSS.escape(next.id)}"]`)?.focus({ preventScroll: true });
    go(address(next.id), { replace: true });
  };
  useKeys({
    j: () => step(1),
    k: () => step(-1),
    Enter: gate ? () => go(`/gates/${encodeURIComponent(gate.id)}`) : undefined,
  });
  useTitle(flat.length - gone.size, place);

  const first = list.data?.pages[0];
  const sets = (g: Group) =>
    place !== "decided" && splitOf(waitingOf(g.gates, gone)).set.length > 0
      ? addressOf(place, { settled, question, set: g.name })
      : undefined;
  return (
    <>
      <Bar title="Inbox">
        <Tabs
          label="inbox"
          tabs={places.map((p) => ({
            name: p.name,
            href: addressOf(p.place),
            on: p.place === place,
            count: p.place === place ? countOf(first) : "",
          }))}
        />
      </Bar>
      <div className={(gate || together) && !wide ? `${css.inbox} ${css.one}` : css.inbox}>
        <div
          ref={rows}
          className={css.list}
          onKeyDown={(e) => {
            const now = rove(e)?.dataset["gate"];
            if (now && wide) go(address(now), { replace: true });
          }}
          onPointerEnter={(e) => (hovered.current = e.pointerType === "mouse")}
          onPointerLeave={() => {
            hovered.current = false;
            move();
          }}
        >
          {place === "decided" && (
            <Ends settled={settled} address={(s) => addressOf(place, { settled: s, question })} />
          )}
          {question !== undefined && <Only question={question} href={addressOf(place, { settled })} />}
          {list.isPending && <Skeleton rows={8} height={55} />}
          {list.error && <Failure error={list.error} safe="What waits stays on record." />}
          {list.data && flat.length === 0 && (
            <Empty
              title={titleOf(place, settled)}
              command={place === "decided" ? undefined : 'posthouse send AGENT "a request"'}
            >
              {empties[place].text}
            </Empty>
          )}
          <List
            groups={groups}
            chosen={gate?.id}
            gone={gone}
            address={address}
            decided={place === "decided"}
            set={sets}
            only={(g) => addressOf(place, { question: g.name })}
            count={(g) => countOf(first, g.name) || String(g.gates.length)}
          />
          {list.hasNextPage && (
            <div className={css.more}>
              <Button onClick={() => more(list)} disabled={list.isFetchingNextPage}>
                {list.isFetchingNextPage ? "Loading" : "Show more"}
              </Button>
            </div>
          )}
        </div>
        {together && (
          <SetPane
            key={together.name}
            gates={together.gates}
            gone={gone}
            unread={list.hasNextPage}
            address={(id) => (id ? address(id) : addressOf(place, { question }))}
          />
        )}
        {other.error && !gate && !together && (
          <div className={css.failed}>
            <Failure error={other.error} />
          </div>
        )}
        {gate && (
          <GateDetail
            key={gate.id}
            listed={gate}
            gone={gone.has(gate.id) && !isSnoozed(gate.id)}
            byItself={chosen === undefined}
            go={(id) => go(address(id))}
            back={
              <>
                <p className={css.back}>
                  <Link href={addressOf(place, { settled, question })}>
                    <ArrowLeft size={16} strokeWidth={1.5} aria-hidden /> Inbox
                  </Link>
                  <span>{flat.includes(gate) && nth(gate)}</span>
                </p>
                {!flat.includes(gate) && <p className={css.other}>{elsewhere(gate, place)}</p>}
              </>
            }
          />
        )}
        {gate && vast && !inSession(gate) && <Beside gate={gate} />}
      </div>
    </>
  );
}

/** waitingOf are those of some questions that nobody decided yet, as far as this page knows. */
const waitingOf = (gates: Gate[], gone: Set<string>) => gates.filter((g) => !gone.has(g.id) && !outcomeOf(g.id));

type PaneProps = { gates: Gate[]; gone: Set<string>; unread: boolean; address: (id: string) => string };

/** SetPane keeps the questions of a set as they were when it was opened. */
function SetPane({ gates, gone, unread, address }: PaneProps) {
  const [kept] = useState(() => splitOf(waitingOf(gates, gone)));
  return kept.set.length > 0 ? (
    <SetDetail gates={kept.set} left={kept.left} unread={unread} gone={gone} address={address} />
  ) : (
    <Empty title="Nothing to decide together">What waits here has to be decided one by one.</Empty>
  );
}

const titleOf = (place: Place, { state, mine }: Settled) =>
  place !== "decided"
    ? empties[place].title
    : mine
      ? "You have decided none of these"
      : `Nothing ${state === "decided" ? "is decided" : state === "expired" ? "has expired" : "was withdrawn"} yet`;

/** elsewhere says why a question that an address leads to is not on the list beside it. */
function elsewhere(gate: Gate, place: Place): string {
  if (gate.state !== "open") return place === "decided" ? "It is further down this list." : "It waits no more.";
  if (place === "decided") return "It is not decided: it waits still.";
  return place === "mine" ? "It is not among those for you." : "It is further down this list.";
}

function useTitle(open: number, place: Place) {
  useEffect(() => {
    document.title = `${place !== "decided" && open > 0 ? `(${open}) ` : ""}Inbox · Posthouse`;
  }, [open, place]);
}
