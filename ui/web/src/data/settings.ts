import { useQuery } from "@tanstack/react-query";
import { api, get, type Schemas } from "../api/client";

export type Substitution = Schemas["Substitution"];
export type Webhook = Schemas["Status"];

/** useSubstitutes lists who stands in for whom, as far as one is in it. */
export const useSubstitutes = () =>
  useQuery({
    queryKey: ["substitutes"],
    queryFn: ({ signal }) =>
      get(api.GET("/api/substitutes", { signal, params: { query: { person: "me" } } })).then((l) => l.items),
  });

/** useSnoozed lists the questions that one hid from one's own inbox. */
export const useSnoozed = () =>
  useQuery({
    queryKey: ["live", "snoozed"],
    queryFn: ({ signal }) => {
      const query = { assignee: "me", snoozed: "only" as const, limit: 200 };
      return get(api.GET("/api/gates", { signal, params: { query } }));
    },
  });

/** useDeliveries lists the newest attempts of an endpoint, while they are looked at. */
export const useDeliveries = (name: string, open: boolean) =>
  useQuery({
    queryKey: ["webhooks", name, "deliveries"],
    enabled: open,
    refetchInterval: 3000,
    queryFn: ({ signal }) =>
      get(api.GET("/api/webhooks/{id}/deliveries", { signal, params: { path: { id: name } } })).then((l) => l.items),
  });

/** useWebhooks lists the endpoints that are told what happens. Only an operator may. */
export const useWebhooks = (may: boolean) =>
  useQuery({
    queryKey: ["webhooks"],
    enabled: may,
    refetchInterval: 3000,
    queryFn: ({ signal }) => get(api.GET("/api/webhooks", { signal })).then((l) => l.items),
  });
