import { useQuery } from "@tanstack/react-query";
import { api, get, type Schemas } from "../api/client";

export type Known = Schemas["KnownPerson"];

/** usePeople lists the names that are known here, and why a question cannot be handed to each of them. */
export const usePeople = (gate?: string) =>
  useQuery({
    queryKey: ["people", gate ?? ""],
    staleTime: 15_000,
    queryFn: ({ signal }) =>
      get(api.GET("/api/people", { signal, params: { query: { limit: 1000, ...(gate ? { gate } : {}) } } })),
  });

/** usePerson asks for one name that the list does not have. */
export const usePerson = (name: string, gate?: string) =>
  useQuery({
    queryKey: ["people", gate ?? "", name],
    enabled: name !== "",
    retry: false,
    staleTime: 15_000,
    queryFn: ({ signal }) =>
      get(api.GET("/api/people", { signal, params: { query: { name, ...(gate ? { gate } : {}) } } })).then(
        (l) => l.items[0],
      ),
  });
