import { QueryClient } from "@tanstack/react-query";
import { Problem } from "../api/client";
import { Feed } from "./live";

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

let feed: Feed | undefined;

/** live returns the feed of this tab, and begins it the first time. */
export const live = () =>
  (feed ??= new Feed(() => void queries.invalidateQueries({ predicate: (q) => q.queryKey[0] === "live" })));
