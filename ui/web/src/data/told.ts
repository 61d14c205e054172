import { useQuery } from "@tanstack/react-query";
import { api, get, type Schemas } from "../api/client";
import { now } from "../api/clock";

export type Told = Schemas["Told"];
export type GateTold = Schemas["GateTold"];

/** isMoving says whether it is yet to be seen how it goes: no event tells of deliveries. */
const isMoving = (t: Told) =>
  t.state === "retrying" || t.state === "waiting" || (t.state === "unknown" && now() - Date.parse(t.happened) < 60_000);

/** useTold reads who was told of a gate, and reads it again while a delivery is under way. */
export const useTold = (id: string) =>
  useQuery({
    queryKey: ["live", "told", id],
    queryFn: ({ signal }) => get(api.GET("/api/gates/{id}/deliveries", { signal, params: { path: { id } } })),
    refetchInterval: (q) => (q.state.data?.items.some(isMoving) ? 3000 : false),
  });
