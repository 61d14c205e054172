// The questions beside one: the one that replaced it, and the one that asks what became of its effect.

import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { api, get, type Gate } from "../api/client";
import { inSession, useGate } from "../data/gates";
import { Card } from "../parts/card";
import { Said } from "../parts/said";
import { Changes } from "./changes";
import css from "./neighbours.module.css";

const to = (id: string) => `/gates/${encodeURIComponent(id)}`;

/** Newer shows the question that replaced this one, and what it changed. */
export function Newer({ gate }: { gate: Gate }) {
  const id = useNewer(gate);
  return id ? <Successor id={id} /> : null;
}

/**
 * useNewer finds the question that is asked in the place of one that waits no more: the one that its
 * decision names, or one of its thread that says so itself.
 */
export function useNewer(gate: Pick<Gate, "id" | "thread" | "kind" | "state" | "decision">): string | undefined {
  const named = gate.decision?.successor;
  const read = useQuery({
    queryKey: ["live", "newer", gate.id],
    enabled: gate.state !== "open" && !named && !inSession(gate),
    queryFn: async ({ signal }) => {
      for (const state of ["open", "decided"] as const) {
        const query = { thread: gate.thread, state, limit: 100 };
        const { items } = await get(api.GET("/api/gates", { signal, params: { query } }));
        const next = items.find((g) => g.supersedes === gate.id);
        if (next) return next.id;
      }
      return "";
    },
  });
  return named ?? (read.data || undefined);
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
