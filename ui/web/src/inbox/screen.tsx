import { ArrowLeft } from "lucide-react";
import { useEffect, useMemo, useRef, useState } from "react";
import { Link, useLocation, useSearch } from "wouter";
import type { Gate } from "../api/client";
import { inSession, useGates, useSessions, type Place } from "../data/gates";
import { outcomeOf } from "../gate/decide";
import { GateDetail } from "../gate/detail";
import { isSnoozed } from "../gate/snoozed";
import { Button } from "../parts/button";
import { later } from "../parts/later";
import { Empty, Failure, Skeleton } from "../parts/notice";
import { Tabs } from "../parts/tabs";
import { useWidth } from "../parts/wide";
import { Bar } from "../shell/bar";
import { useKeys } from "../shell/keys";
import { List } from "./list";
import { grouped, Seen } from "./order";
import { setOf } from "./together";
import css from "./screen.module.css";

const Beside = later(async () => (await import("./beside")).Beside);
const SetDetail = later(async () => (await import("./set")).SetDetail);

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

/** InboxScreen lists what waits for a decision, and shows one question of it. */
export function InboxScreen() {
  const query = new URLSearchParams(useSearch());
  const place = places.find((p) => p.show === (query.get("show") ?? "")) ?? places[0]!;
  return (
    <InboxPlace
      key={place.place}
      place={place.place}
      chosen={query.get("gate") ?? undefined}
      set={query.get("set") ?? undefined}
    />
  );
}

const addressOf = (place: Place, gate?: string, set?: string) => {
  const show = places.find((p) => p.place === place)?.show;
  const query = new URLSearchParams({
    ...(show ? { show } : {}),
    ...(gate ? { gate } : {}),
    ...(set ? { set } : {}),
  }).toString();
  return query ? `/?${query}` : "/";
};

function InboxPlace({ place, chosen, set }: { place: Place; chosen: string | undefined; set: string | undefined }) {
  const [, go] = useLocation();
  const list = useGates(place);
  const sessions = useSessions();
  const seen = useRef(new Seen());
  const { groups, flat, gone } = useMemo(() => {
    const waiting = place === "decided" ? [] : (sessions.data ?? []);
    const read = [...waiting, ...(list.data?.pages ?? []).flatMap((p) => p.items)];
    const { gates, gone } = place === "decided" ? { gates: read, gone: new Set<string>() } : seen.current.merge(read);
    const groups = grouped(gates, place === "decided");
    return { groups, flat: groups.flatMap((g) => g.gates), gone };
  }, [list.data, sessions.data, place]);
  const wide = useWidth(900);
  const vast = useWidth(1920);
  const auto = useRef<string>(undefined); // what was selected without anybody's doing: it stays
  const found = flat.find((g) => g.id === (chosen ?? auto.current));
  const together = groups.find((g) => g.name === set);
  const gate: Gate | undefined =
    together || (chosen === undefined && !wide) ? undefined : (found ?? (chosen === undefined ? flat[0] : undefined));
  if (chosen === undefined && !together) auto.current = gate?.id;
  const select = (g: Gate | undefined) => g && go(addressOf(place, g.id), { replace: true });
  const step = (by: number) => select(flat[Math.min(flat.length - 1, Math.max(0, flat.indexOf(gate as Gate) + by))]);
  useKeys({
    j: () => step(1),
    k: () => step(-1),
    Enter: gate ? () => go(`/gates/${encodeURIComponent(gate.id)}`) : undefined,
  });
  useTitle(flat.length - gone.size, place);

  const position = gate ? `${flat.indexOf(gate) + 1} of ${flat.length}${list.hasNextPage ? "+" : ""}` : "";
  return (
    <>
      <Bar title="Inbox">
        <Tabs
          label="inbox"
          tabs={places.map((p) => ({
            name: p.name,
            href: addressOf(p.place),
            on: p.place === place,
            count: p.place === place ? countOf(list.data?.pages[0]?.counts) : "",
          }))}
        />
      </Bar>
      <div className={(gate || together) && !wide ? `${css.inbox} ${css.one}` : css.inbox}>
        <div className={css.list}>
          {list.isPending && <Skeleton rows={8} height={55} />}
          {list.error && <Failure error={list.error} safe="What waits stays on record." />}
          {list.data && flat.length === 0 && (
            <Empty
              title={empties[place].title}
              command={place === "decided" ? undefined : 'posthouse send AGENT "a request"'}
            >
              {empties[place].text}
            </Empty>
          )}
          <List
            groups={groups}
            chosen={gate?.id}
            gone={gone}
            address={(id) => addressOf(place, id)}
            decided={place === "decided"}
            set={(name) => addressOf(place, undefined, name)}
          />
          {list.hasNextPage && (
            <div className={css.more}>
              <Button onClick={() => void list.fetchNextPage()} disabled={list.isFetchingNextPage}>
                {list.isFetchingNextPage ? "Loading" : "Show more"}
              </Button>
            </div>
          )}
        </div>
        {together && <SetPane key={together.name} gates={together.gates} address={(id) => addressOf(place, id)} />}
        {gate && (
          <GateDetail
            key={gate.id}
            listed={gate}
            gone={gone.has(gate.id) && !isSnoozed(gate.id)}
            go={(id) => go(addressOf(place, id))}
            back={
              <p className={css.back}>
                <Link href={addressOf(place)}>
                  <ArrowLeft size={16} strokeWidth={1.5} aria-hidden /> Inbox
                </Link>
                <span>{position}</span>
              </p>
            }
          />
        )}
        {gate && vast && !inSession(gate) && <Beside gate={gate} />}
      </div>
    </>
  );
}

/** SetPane keeps the questions of a set as they were when it was opened. */
function SetPane({ gates, address }: { gates: Gate[]; address: (id: string) => string }) {
  const [kept] = useState(() => {
    const set = setOf(gates);
    return { set, others: gates.filter((g) => !outcomeOf(g.id)).length - set.length };
  });
  return kept.set.length > 0 ? (
    <SetDetail gates={kept.set} others={kept.others} address={address} />
  ) : (
    <Empty title="Nothing to decide together">What waits here has to be decided one by one.</Empty>
  );
}

const countOf = (counts: Record<string, unknown> | undefined) =>
  counts ? String(Object.values(counts).reduce((a: number, b) => a + Number(b), 0)) : "";

function useTitle(open: number, place: Place) {
  useEffect(() => {
    document.title = `${place !== "decided" && open > 0 ? `(${open}) ` : ""}Inbox · Posthouse`;
  }, [open, place]);
}
