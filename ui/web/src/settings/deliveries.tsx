import { useState } from "react";
import { useDeliveries } from "../data/settings";
import { Id } from "../parts/id";
import { Failure, Skeleton } from "../parts/notice";
import { Said } from "../parts/said";
import { Table } from "../parts/table";
import { At } from "../parts/time";
import css from "./settings.module.css";

/** Deliveries are the newest attempts to deliver to a webhook, shown when they are asked for. */
export function Deliveries({ name }: { name: string }) {
  const [open, setOpen] = useState(false);
  return (
    <details onToggle={(e) => setOpen(e.currentTarget.open)}>
      <summary className={css.quiet}>Newest deliveries</summary>
      {open && <Attempts name={name} />}
    </details>
  );
}

function Attempts({ name }: { name: string }) {
  const list = useDeliveries(name, true);
  if (list.error) return <Failure error={list.error} />;
  if (!list.data) return <Skeleton rows={4} height={36} />;
  if (list.data.length === 0) return <p className={css.quiet}>Nothing was delivered yet.</p>;
  return (
    <Table
      label={`deliveries to ${name}`}
      columns={[
        { name: "When" },
        { name: "Event" },
        { name: "Attempt" },
        { name: "Took", end: true },
        { name: "Went", grow: true },
        { name: "Message" },
      ]}
      rows={list.data.map((d) => ({
        key: `${d.id} ${d.at} ${d.attempt}`,
        cells: [
          <At key="at" at={d.at} />,
          d.type,
          `${d.attempt}${d.replay ? " of a replay" : ""}`,
          `${d.millis} ms`,
          d.delivered ? (
            "taken"
          ) : (
            <span key="went" className={css.bad}>
              <Said>{d.error ?? `it answered ${d.status ?? "nothing"}`}</Said>
            </span>
          ),
          <Id key="id">{d.id}</Id>,
        ],
      }))}
    />
  );
}
