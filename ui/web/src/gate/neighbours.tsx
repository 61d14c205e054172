// The questions beside one: the one that replaced it, and the one that asks what became of its effect.

import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { api, get, type Gate } from "../api/client";
import { inSession, useGate } from "../data/gates";
import { Card } from "../parts/card";
import { Said } from "../parts/said";
import { At } from "../parts/time";
import { Changes } from "./changes";
import css from "./neighbours.module.css";

const to = (id: string) => `/gates/${encodeURIComponent(id)}`;

/** Newer shows the question that replaced this one, and what it changed. */
export function Newer({ gate }: { gate: Gate }) {
  const id = useNewer(gate);
  return id ? <Successor id={id} /> : null;
}

/** header reads a checkpoint without its state. */
export const header = (id: string, signal: AbortSignal) =>
  get(api.GET("/api/checkpoints/{id}", { signal, params: { path: { id }, query: { state: false } } }));

/** onFork finds the question of a fork of the checkpoint that asked: who has one asked again may begin a branch for it. */
async function onFork(gate: Pick<Gate, "name" | "branch" | "checkpoint">, items: Gate[], signal: AbortSignal) {
  for (const g of items.filter((g) => g.name === gate.name && g.branch !== gate.branch)) {
    const { source } = await header(g.checkpoint, signal);
    if (source?.id === gate.checkpoint) return g;
  }
  return undefined;
}

/** useOlder finds the question without an answer that an open one repeats, with who had it asked again. */
export const useOlder = (gate: Gate) =>
  useQuery({
    queryKey: ["older", gate.id],
    enabled: gate.state === "open" && !inSession(gate),
    staleTime: Infinity,
    queryFn: async ({ signal }) => {
      const { by, source, gates } = await header(gate.checkpoint, signal);
      const ids = gate.supersedes
        ? [gate.supersedes]
        : source && (gates?.length ?? 0) > 0 && source.thread === gate.thread
          ? ((await header(source.id, signal)).gates ?? []).slice(0, 10)
          : [];
      for (const id of ids) {
        const old = await get(api.GET("/api/gates/{id}", { signal, params: { path: { id } } }));
        if (old.name === gate.name && old.state !== "open" && old.state !== "decided") return { old, by };
      }
      return null;
    },
  });

/** Older says that a question repeats one that got no answer, and leads to it. */
export function Older({ gate }: { gate: Gate }) {
  const { data } = useOlder(gate);
  if (!data) return null;
  const { old, by } = data;
  return (
    <p className={css.older}>
      It repeats <Link href={to(old.id)}>a question that {old.state === "expired" ? "expired" : "was withdrawn"}</Link>{" "}
      {old.decision && <At at={old.decision.at} />}
      {by && (
        <>
          , asked again by <Said>{by}</Said>
        </>
      )}
      .
    </p>
  );
}

/**
 * useNewer finds the question that is asked in the place of one that waits no more: the one that its
 * decision names, or one of its thread that says so itself.
 */
export function useNewer(
  gate: Pick<Gate, "id" | "thread" | "kind" | "state" | "decision" | "name" | "checkpoint" | "branch">,
): string | undefined {
  const named = gate.decision?.successor;
  const read = useQuery({
    queryKey: ["live", "newer", gate.id],
    enabled: gate.state !== "open" && !named && !inSession(gate),
    queryFn: async ({ signal }) => {
      for (const state of ["open", "decided"] as const) {
        const query = { thread: gate.thread, state, limit: 100 };
        const { items } = await get(api.GET("/api/gates", { signal, params: { query } }));
        const next = items.find((g) => g.supersedes === gate.id) ?? (await onFork(gate, items, signal));
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
