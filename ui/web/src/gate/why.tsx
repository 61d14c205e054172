// Why a question was decided as it was, in the words of who decided it or in those of the runtime.

import { useQuery } from "@tanstack/react-query";
import { api, get, type Decision, type Gate } from "../api/client";
import { Said } from "../parts/said";
import { quoted, runtime } from "../text/quoted";
import { inThread } from "../thread/address";
import { cancelled } from "./cancelled";
import { header } from "./neighbours";

/** What older records say of every question that is withdrawn, also where a person cancelled its branch. */
const older = "the branch went on without it";

type Of = Pick<Gate, "thread" | "branch">;

/** useCancelled reads who cancelled the branch of a question in the entry that withdrew it. */
const useCancelled = ({ thread, branch }: Of, d: Decision) =>
  useQuery({
    queryKey: ["cancelled", d.gate],
    enabled: d.by === runtime && d.verdict === "cancel" && d.reason === older,
    staleTime: Infinity,
    queryFn: async ({ signal }) => {
      const { branches } = await get(api.GET("/api/threads/{id}", { signal, params: inThread(thread) }));
      const head = branches?.find((b) => b.branch === branch)?.head;
      return (head && cancelled(await header(head, signal), d.seq)) ?? null;
    },
  });

/** Why says the reason of a decision. That of a question whose branch was cancelled says by whom. */
export function Why({ of, decision: d }: { of: Of; decision: Decision }) {
  const { data } = useCancelled(of, d);
  return d.reason ? <Said>{data || quoted(d.by, d.reason)}</Said> : null;
}
