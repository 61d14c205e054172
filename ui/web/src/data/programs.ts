import { useQuery } from "@tanstack/react-query";
import { api, get, type Schemas } from "../api/client";
import { inProgram } from "../programs/address";
import { member, onRecord, type Node } from "../text/json";

export type Program = Schemas["ProgramInfo"];

/** useProgram reads how a program describes itself. */
export const useProgram = (name: string) =>
  useQuery({
    queryKey: ["program", name],
    enabled: name !== "",
    staleTime: 60_000,
    queryFn: ({ signal }) => get(api.GET("/api/programs/{program}", { signal, params: inProgram(name) })),
  });

/** useStanding counts where a program's threads are that have not ended. */
export const useStanding = (name: string, enabled = true) =>
  useQuery({
    queryKey: ["standing", name],
    enabled,
    refetchInterval: 5000, // logs are read for it
    queryFn: ({ signal }) => get(api.GET("/api/programs/{program}/standing", { signal, params: inProgram(name) })),
  });

export type Earlier = { thread: string; at: string; by?: string | undefined; input: Node };

/** useInputs reads what newest runs of a program began with, as far as their checkpoints have it. */
export const useInputs = (name: string, kind: string, enabled: boolean) =>
  useQuery({
    queryKey: ["inputs", name],
    enabled,
    queryFn: async ({ signal }) => {
      const query = { graph: name, kind: "input" as const, limit: 12, state: true };
      const found = await get(api.GET("/api/checkpoints", { signal, params: { query } }));
      return found.flatMap((c): Earlier[] => {
        const state = onRecord(c.state);
        const input = kind === "graph" ? state : member(state, "input");
        return input ? [{ thread: c.thread, at: c.createdAt, by: c.by, input }] : [];
      });
    },
  });
