import { ArrowLeft } from "lucide-react";
import { useEffect, useMemo, useRef, useState } from "react";
import { Link, useLocation, useSearch } from "wouter";
import type { Gate } from "../api/client";
import { countOf, inSession, useGate, useGates, useSessions, type Place, type Settled } from "../data/gates";
import { useDecides } from "../data/me";
import { more } from "../data/query";
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
import { filterOf, type Filter } from "./filter";
import { fromList, List } from "./list";
import { grouped, Seen, type Group } from "./order";
import { together as splitOf } from "./together";
import { waitingOf } from "./waiting";
import css from "./screen.module.css";

const Beside = later(async () => (await import("./beside")).Beside);
const SetPane = later(async () => (await import("./set-pane")).SetPane);
const Narrow = later(async () => (await import("./narrow")).Narrow, <div className={css.narrow} />);
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
  return (
    <InboxPlace
      key={`${place.place} ${settled.state} ${settled.mine}`}
      filter={filterOf(query)}
      places={mine}
      place={place.place}
      settled={settled}
      chosen={query.get("gate") ?? undefined}
      set={query.get("set") ?? undefined}
    />
  );
}

type Where = { settled?: Settled; filter?: Filter; gate?: string; set?: string };

/** addressOf is where a place is shown, as it is narrowed, with a question or a set of it. */
function addressOf(place: Place, { settled, filter, gate, set }: Where = {}): string {
  const show = places.find((p) => p.place === place)?.show;
  const query = new URLSearchParams({
    ...(show ? { show } : {}),
    ...(place === "decided" && settled && settled.state !== "decided" ? { state: settled.state } : {}),
    ...(place === "decided" && settled?.mine ? { by: "me" } : {}),
    ...filter,
    ...(gate ? { gate } : {}),
    ...(set ? { set } : {}),
  }).toString();
  return query ? `/?${query}` : "/";
}

type PlaceProps = {
  places: typeof places;
  place: Place;
  settled: Settled;
  filter: Filter;
  chosen: string | undefined;
  set: string | undefined;
};

function InboxPlace({ places, place, settled, filter, chosen, set }: PlaceProps) {
  const [, go] = useLocation();
  const narrowed = JSON.stringify(filter);
  const list = useGates(place, settled, { narrowed: filter });
  const sessions = useSessions();
  const seen = useMemo(() => new Seen(), [narrowed]); // another list was not seen before
  const [moved, setMoved] = useState(0);
  const { groups, flat, gone } = useMemo(() => {
    const waiting = place === "decided" || narrowed !== "{}" ? [] : (sessions.data ?? []);
    const mine = place === "mine" ? waiting.filter(mayDecide) : waiting;
    const read = [...mine, ...(list.data?.pages ?? []).flatMap((p) => p.items)];
    const { gates, gone } = place === "decided" ? { gates: read, gone: new Set<string>() } : seen.merge(read);
    const groups = grouped(gates, place === "decided", seen.rankOf);
    return { groups, flat: groups.flatMap((g) => g.gates), gone };
  }, [list.data, sessions.data, place, moved, seen]);
  const hovered = useRef(false);
  const rows = useRef<HTMLDivElement>(null);
  // Nothing moves under a pointer that is over the list, and nothing at all until the reader moves.
  const move = () => !hovered.current && seen.settle() && setMoved((n) => n + 1);
  useEffect(() => void move(), [chosen]);
  const wide = useWidth(900);
  const vast = useWidth(1920);
  const auto = useRef<string>(undefined); // what was selected without anybody's doing: it stays
  useMemo(() => (auto.current = undefined), [seen]);
  const found = flat.find((g) => g.id === (chosen ?? auto.current));
  const together = groups.find((g) => g.name === set);
  const other = useGate(chosen, chosen !== undefined && found === undefined && !list.isPending);
  const gate: Gate | undefined =
    together || (chosen === undefined && !wide)
      ? undefined
      : (found ?? (chosen === undefined ? flat[0] : chosen === other.data?.id ? other.data : undefined));
  if (chosen === undefined && !together) auto.current = gate?.id;
  const address = (id: string) => addressOf(place, { settled, filter, gate: id });
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
  const last = useRef<string>(undefined);
  useEffect(() => {
    // On a phone the list and the question take turns: who comes back goes on at the row.
    if (gate) last.current = gate.id;
    else if (!wide && last.current) document.getElementById(`row-${last.current}`)?.focus();
  }, [gate?.id, wide]);
  useTitle(flat.length - gone.size, place);

  const first = list.data?.pages[0];
  const sets = (g: Group) =>
    place !== "decided" && splitOf(waitingOf(g.gates, gone)).set.length > 0
      ? addressOf(place, { settled, filter, set: g.name })
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
          {place === "decided" && <Ends settled={settled} address={(s) => addressOf(place, { settled: s, filter })} />}
          <Narrow
            filter={filter}
            questions={Object.keys(first?.counts ?? {})}
            address={(f) => addressOf(place, { settled, filter: f })}
          />
          {list.isPending && <Skeleton rows={8} height={55} />}
          {list.error && <Failure error={list.error} safe="What waits stays on record." />}
          {list.data && flat.length === 0 && narrowed !== "{}" && !list.hasNextPage && (
            <Empty title="Nothing fits">
              No question here fits what is searched for.{" "}
              <Link href={addressOf(place, { settled })} replace>
                Show all
              </Link>
            </Empty>
          )}
          {list.data && flat.length === 0 && narrowed === "{}" && (
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
            only={(g) => addressOf(place, { filter: { ...filter, question: g.name } })}
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
            address={(id) => (id ? address(id) : addressOf(place, { filter }))}
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
                  <Link
                    href={addressOf(place, { settled, filter })}
                    onClick={(e) => {
                      if (history.state !== fromList) return;
                      e.preventDefault();
                      history.back();
                    }}
                  >
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
