import type { Schemas } from "../api/client";
import { compact, type Node } from "../text/json";

/** changesOf returns what a fork changes: the members that differ, or the whole state if one is gone. */
export function changesOf(
  was: Node | undefined,
  is: Node | undefined,
  codecs: Record<string, string> = {},
): Pick<Schemas["ForkBody"], "patch" | "state" | "codecs"> {
  if (!was || !is || compact(was) === compact(is)) return {};
  if (was.kind !== "object" || is.kind !== "object") return { state: compact(is) };
  const before = new Map(was.members.map((m) => [m.name, compact(m.value)]));
  const after = new Map(is.members.map((m) => [m.name, compact(m.value)]));
  if ([...before.keys()].some((name) => !after.has(name))) {
    const kept = Object.entries(codecs).filter(([name]) => after.has(name));
    return { state: compact(is), ...(kept.length > 0 ? { codecs: Object.fromEntries(kept) } : {}) };
  }
  const changed = [...after].filter(([name, text]) => before.get(name) !== text);
  const coded = changed.filter(([name]) => codecs[name]).map(([name]) => [name, codecs[name] ?? ""] as const);
  return {
    patch: Object.fromEntries(changed),
    ...(coded.length > 0 ? { codecs: Object.fromEntries(coded) } : {}),
  };
}
