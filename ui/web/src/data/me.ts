import { useQuery } from "@tanstack/react-query";
import { api, get } from "../api/client";
import { ownedBy } from "./typed";

/** useMe says who is logged in, and with which role. */
export const useMe = () =>
  useQuery({
    queryKey: ["me"],
    staleTime: 60_000,
    queryFn: async () => {
      const me = await get(api.GET("/api/me"));
      ownedBy(me.name);
      return me;
    },
  });

/** useDecides says whether the role of who is logged in may decide anything. */
export const useDecides = (): boolean => {
  const role = useMe().data?.role;
  return role !== "viewer" && role !== "worker";
};

/** useWeak says by what the store may lose acknowledged writes. */
export const useWeak = () =>
  useQuery({
    queryKey: ["weak"],
    queryFn: async () => (await get(api.GET("/readyz"))).weak ?? [],
    refetchInterval: 60_000,
  });

/** useVersion says which version serves the page, and whether it shows a made-up week. */
export const useVersion = () =>
  useQuery({ queryKey: ["version"], queryFn: () => get(api.GET("/version")), staleTime: Infinity });
