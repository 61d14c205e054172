import { QueryClient, type Query } from "@tanstack/react-query";
import { onEnded, Problem } from "../api/client";
import { Feed } from "./live";
import { Reads } from "./reads";
import { ownedBy } from "./typed";

/** login leads to the login page, and from there back to the address that was asked for. */
export function login() {
  location.assign(`/login?next=${encodeURIComponent(location.pathname + location.search + location.hash)}`);
}

export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      refetchOnWindowFocus: true,
      retry: (count, error) => count < 2 && error instanceof Problem && error.code === "unavailable",
    },
  },
});

let asked = -Infinity; // the answer that nobody is logged in leads here again

/** who asks again who is logged in. */
const who = () => {
  if (performance.now() - asked < 2000) return;
  asked = performance.now();
  void queries.invalidateQueries({ queryKey: ["me"] });
};
onEnded(who);

// Who logs out empties all tabs: what they show was for the one who was logged in. Who logs in is seen by
// all: a tab that was logged out goes on.
const session = new BroadcastChannel("posthouse-session");
session.onmessage = ({ data }: MessageEvent<"in" | "out">) => {
  if (data === "in") return void queries.invalidateQueries({ queryKey: ["me"] });
  queries.clear();
  ownedBy(undefined);
  gone(true);
  login();
};

/** leave tells the other tabs that the person of this one logs out. */
export function leave() {
  ownedBy(undefined);
  session.postMessage("out");
}

/** arrive tells the other tabs that somebody is logged in here. */
export const arrive = () => session.postMessage("in");

/** isMissing says that what a query reads does not exist. To read it again would take its page away for a moment. */
const isMissing = ({ state }: Query) =>
  state.data === undefined && state.error instanceof Problem && state.error.code === "not-found";

const isLive = (q: Query) => q.queryKey[0] === "live" && !isMissing(q);

const reads = new Reads();

/**
 * stale has what is shown read again, and says whether some of it was being read already. That is not
 * begun again: a slow answer would never come while events do, and a next page would be lost.
 */
function stale(): boolean {
  const [waits, again] = [new Set<Query>(), new Set<Query>()];
  for (const q of queries.getQueryCache().findAll({ predicate: isLive }))
    (reads.underWay(q, performance.now()) ? waits : again).add(q);
  void queries.invalidateQueries({ predicate: (q) => again.has(q) });
  return waits.size > 0;
}

/** more reads the next page of a list, and after it what was being read again meanwhile. */
export const more = (list: { isFetching: boolean; fetchNextPage: () => Promise<unknown>; refetch: () => unknown }) => {
  const again = list.isFetching;
  void list.fetchNextPage().then(() => again && list.refetch());
};

let feed: Feed | undefined;

/** gone tells the feed whether nobody is logged in. */
export const gone = (is: boolean) => feed?.out(is);

/** live returns the feed of this tab, and begins it the first time. */
export const live = () => (feed ??= new Feed(stale, who));
