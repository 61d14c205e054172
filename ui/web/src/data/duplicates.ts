import { useQuery } from "@tanstack/react-query";
import { api, get, type Gate } from "../api/client";

const atOnce = 4;

/** useDuplicated finds which of some open questions another branch asks too, or had approved. */
export const useDuplicated = (gates: Gate[]) =>
  useQuery({
    queryKey: ["duplicated", gates.map((g) => g.id)],
    staleTime: Infinity,
    queryFn: async ({ signal }) => {
      const found = new Set<string>();
      const queue = gates.filter((g) => g.kind !== "session" && !g.error);
      const work = async () => {
        for (let g = queue.shift(); g; g = queue.shift()) {
          const { duplicates } = await get(api.GET("/api/gates/{id}", { signal, params: { path: { id: g.id } } }));
          if (duplicates?.length) found.add(g.id);
        }
      };
      await Promise.all(Array.from({ length: atOnce }, work));
      return found;
    },
  });
