import { useQuery } from "@tanstack/react-query";
import { api, get } from "../api/client";
import { Value } from "../parts/value";
import { onRecord } from "../text/json";
import css from "./step.module.css";

/** Slot shows the working state that a task's handler keeps between its attempts. It is beside the log, and changes. */
export function Slot({ task }: { task: string }) {
  const slot = useQuery({
    queryKey: ["live", "slot", task],
    queryFn: ({ signal }) => get(api.GET("/api/tasks/{id}/slot", { signal, params: { path: { id: task } } })),
  });
  if (!slot.data?.saved) return null;
  const node = onRecord(slot.data.value ?? "");
  return (
    <details className={css.open}>
      <summary>working state, as it is now</summary>
      {node && <Value node={node} />}
    </details>
  );
}
