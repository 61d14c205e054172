import { useQuery } from "@tanstack/react-query";
import { api, get, type Schemas } from "../api/client";
import { faulty } from "../proof/faulty";

/** readVerifications lists those of this server, the newest first. */
export const readVerifications = ({ signal }: { signal: AbortSignal }) =>
  get(api.GET("/api/verifications", { signal })).then((l) => l.items);

/** useFaulty returns the verification whose faults stand, for what every screen says of the store. */
export const useFaulty = () =>
  useQuery({
    queryKey: ["verifications"],
    queryFn: readVerifications,
    refetchInterval: 60_000,
    select: faulty<Schemas["Verification"]>,
  });
