import { useQuery } from "@tanstack/react-query";
import { api, get, type Gate } from "../api/client";

const atOnce = 4;

/** duplicatedOf finds which of some open questions another branch or thread asks too, or had approved. */
export async function duplicatedOf(gates: Gate[], signal?: AbortSignal): Promise<Set<string>> {
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
}

/** useDuplicated reads [duplicatedOf] once for a part that is shown, and anew for the next one. */
export const useDuplicated = (gates: Gate[]) =>
  useQuery({
    queryKey: ["duplicated", gates.map((g) => g.id)],
    staleTime: Infinity,
    gcTime: 0,
    queryFn: ({ signal }) => duplicatedOf(gates, signal),
  });
