import { useUsage } from "../data/thread";
import { Said } from "../parts/said";
import { spent, tokens } from "./spent";

/** Usage is what a thread's calls of models took in all, with the sums by model on hover. */
export function Usage({ thread }: { thread: string }) {
  const { data } = useUsage(thread);
  if (!data || data.calls === 0) return null;
  const by = data.models.map((m) => `${m.model || "no model named"}: ${spent(m)}`).join("\n");
  return (
    <span title={data.more ? `${by}\nof the 20,000 newest entries` : by}>
      <Said>{data.costs.length > 0 ? spent(data) : tokens(data)}</Said>
    </span>
  );
}
