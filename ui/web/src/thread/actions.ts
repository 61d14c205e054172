// What may be done with a thread: which action its status allows, what each does, and the request for it.

import { api, get, type Schemas } from "../api/client";
import { inThread } from "./address";
import { asksPeople } from "./items";

type Thread = Schemas["Thread"];

export type ActionKey =
  | "answer"
  | "signal"
  | "fork"
  | "resume"
  | "replay"
  | "cancel"
  | "release"
  | "hold"
  | "unhold"
  | "copy"
  | "export"
  | "delete";

export type Action = {
  name: string;
  /** One line on what it does. */
  does: string;
  danger?: boolean;
  /** It cannot be taken back: the thread's name confirms it. */
  final?: boolean;
  /** What is asked for beside. */
  asks?: "reason" | "name";
};

export const actions: Record<ActionKey, Action> = {
  answer: { name: "Answer", does: "Opens the question that it waits for." },
  signal: { name: "Send the signal", does: "Sends what this branch waits for, and it goes on with its value." },
  fork: { name: "Fork here", does: "Begins a branch at this checkpoint. You see what it would do before it is made." },
  resume: {
    name: "Resume",
    does: "Goes on from the head of this branch. Steps on record do not run again; what was approved and is not done may be done now, under that approval.",
  },
  replay: {
    name: "Replay",
    does: "Makes a fork at this checkpoint and runs it at once. This branch stays as it is.",
  },
  cancel: {
    name: "Cancel",
    does: "Ends this branch and withdraws its questions. What it did stays on record.",
    danger: true,
    final: true,
    asks: "reason",
  },
  release: {
    name: "Release",
    does: "Closes the thread as a version that stays readable, and frees its name. Open questions are withdrawn.",
    final: true,
    asks: "reason",
  },
  hold: { name: "Hold", does: "Nothing of the thread can be removed until the hold is lifted.", asks: "reason" },
  unhold: { name: "Lift the hold", does: "Retention and deletion may remove it again.", asks: "reason" },
  copy: { name: "Copy", does: "Makes a thread of another name with the whole history. Nothing runs.", asks: "name" },
  export: {
    name: "Export",
    does: "Saves the thread's log as a file that proves itself. It is as secret as the store.",
  },
  delete: {
    name: "Delete",
    does: "Removes the whole thread from the store. A record of that stays.",
    danger: true,
    final: true,
    asks: "reason",
  },
};

/** signalsOf returns the signals that a branch waits for, each name once. */
export const signalsOf = (thread: Thread, branch: string): { gate: string; signal: string }[] => {
  const waits = (thread.waiting ?? []).filter((w) => w.branch === branch && w.kind === "signal");
  const names = [...new Set(waits.map((w) => w.signal ?? ""))];
  return names.map((signal) => ({ gate: waits.find((w) => (w.signal ?? "") === signal)?.id ?? "", signal }));
};

/** allowed returns what a thread's status allows, what is needed most first. */
export function allowed(thread: Thread, branch: string): ActionKey[] {
  if (thread.release) return ["fork", "copy", "export"]; // a version never changes
  const status = thread.branches?.find((b) => b.branch === branch)?.status ?? thread.status;
  const held = !!thread.hold;
  const asks = thread.waiting?.some((w) => w.branch === branch && asksPeople(w));
  const signal = signalsOf(thread, branch).length > 0;
  const rest: ActionKey[] = [held ? "unhold" : "hold", "copy", "export", ...(held ? [] : (["delete"] as const))];
  switch (status) {
    case "running":
    case "ready":
      return ["fork", "replay", "cancel", ...rest];
    case "waiting":
      return [
        ...(asks ? (["answer"] as const) : []),
        ...(signal ? (["signal"] as const) : []),
        "fork",
        "cancel",
        "replay",
        "release",
        ...rest,
      ];
    case "interrupted":
    case "failed":
      return ["resume", "fork", "cancel", "replay", "release", ...rest];
    case undefined:
      return ["export"];
    default:
      return ["fork", "replay", "release", ...rest];
  }
}

export type Target = { thread: Thread; branch: string; at: string; head: string; key: string };

/** Done says where to look after an action. */
export type Done = { at?: string; branch?: string; thread?: string; version?: string; gone?: "deleted" };

/** act sends an action. It returns once the server acknowledged it. */
export async function act(action: ActionKey, t: Target, text: string): Promise<Done> {
  const name = t.thread.thread;
  const header = { "Idempotency-Key": t.key };
  const reason = text ? { reason: text } : {};
  switch (action) {
    case "resume":
      await get(api.POST("/api/checkpoints/{id}/resume", { params: { path: { id: t.head }, header } }));
      return {};
    case "replay": {
      const made = await get(
        api.POST("/api/checkpoints/{id}/replay", { params: { path: { id: t.at }, header }, body: {} }),
      );
      return { branch: made.branch };
    }
    case "cancel":
      await get(
        api.POST("/api/threads/{id}/cancel", {
          params: { ...inThread(name), header },
          body: { branch: t.branch, ...reason },
        }),
      );
      return {};
    case "release": {
      const made = await get(
        api.POST("/api/threads/{id}/releases", { params: { ...inThread(name), header }, body: reason }),
      );
      return { version: String(made.version) };
    }
    case "hold":
      await get(api.POST("/api/threads/{id}/hold", { params: { ...inThread(name), header }, body: reason }));
      return {};
    case "unhold":
      await get(api.DELETE("/api/threads/{id}/hold", { params: inThread(name, reason) }));
      return {};
    case "copy": {
      const of = t.thread.release ? { version: t.thread.release.version } : {};
      await get(
        api.POST("/api/threads/{id}/copy", { params: { ...inThread(name), header }, body: { thread: text, ...of } }),
      );
      return { thread: text };
    }
    case "delete":
      await get(api.DELETE("/api/threads/{id}", { params: inThread(name, reason) }));
      return { gone: "deleted" };
    default:
      return {};
  }
}
