// The questions beside one: the one that replaced it, and the one that asks what became of its effect.

import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { api, get, type Gate } from "../api/client";
import { useGate } from "../data/gates";
import { Card } from "../parts/card";
import { Said } from "../parts/said";
import { Changes } from "./content";
import css from "./neighbours.module.css";

const to = (id: string) => `/gates/${encodeURIComponent(id)}`;

/** Newer shows the question that replaced this one, and what it changed. */
export function Newer({ gate }: { gate: Gate }) {
  const id = gate.decision?.successor;
  return id ? <Successor id={id} /> : null;
}

function Successor({ id }: { id: string }) {
  const next = useGate(id);
  return (
    <Card title="A newer question replaced this one" label="newer question">
      <p className={css.body}>
        <Link href={to(id)}>{next.data ? <Said>{next.data.intent}</Said> : "The newer question"}</Link>
      </p>
      {next.data && <Changes gate={next.data} title="What it changed" />}
    </Card>
  );
}

/** Settle leads to the question that asks people what became of an effect. */
export function Settle({ thread }: { thread: string }) {
  const asked = useQuery({
    queryKey: ["live", "settle", thread],
    queryFn: async ({ signal }) => {
      const query = { thread, kind: "outcome", state: "open" as const, limit: 2 };
      return (await get(api.GET("/api/gates", { signal, params: { query } }))).items;
    },
  });
  const gate = asked.data?.length === 1 ? asked.data[0] : undefined;
  return gate ? <Link href={to(gate.id)}>settle it</Link> : null;
}
