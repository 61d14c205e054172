import { useState } from "react";
import { compact, keep, pretty, read, type Node } from "../text/json";
import { complete, draws, given as without } from "./blank";
import { pathOf, placeOf } from "./place";

export type Edit = ReturnType<typeof useEdit>;

/** useEdit is a value that a person changes, in fields or as JSON. Without a schema only what has a value has a field. */
export function useEdit(schema?: Node) {
  const [value, setValue] = useState<Node>();
  const [start, setStart] = useState<Node>();
  const [raw, setRaw] = useState<string>();
  const given = (node: Node) => without(node, schema !== undefined, schema);
  const text = (node: Node) => {
    const some = given(node);
    return some && compact(some);
  };
  const whole = (node: Node) => (schema ? complete(node, schema) : node);
  return {
    value,
    start,
    raw,
    /** begin takes the value that is changed, and what it was changed to earlier, if it was. */
    begin(node: Node, typed?: Node, of = schema) {
      const start = of ? complete(node, of) : node;
      setStart(start);
      setValue(typed ?? start);
      setRaw(undefined);
    },
    set: setValue,
    close: () => setRaw(undefined),
    /** type takes raw JSON. What says the same as before keeps its text on record. */
    type(text: string) {
      setRaw(text);
      try {
        setValue(keep(read(text), start));
      } catch {
        // invalid says so
      }
    },
    showRaw(on: boolean) {
      setRaw(on && value ? pretty(given(value) ?? { kind: "text", source: "null" }) : undefined);
      if (!on && value) setValue(whole(value));
    },
    /** drawn says whether every part of the value has a field of its own. */
    drawn: () => value !== undefined && draws(value),
    invalid: () => invalid(raw, value && given(value)),
    changed: () => value !== undefined && start !== undefined && text(value) !== text(start),
    /** given is the value without what was left out; nothing at all is undefined. */
    given: () => value && given(value),
  };
}

function invalid(raw: string | undefined, value: Node | undefined): string {
  try {
    if (raw !== undefined) read(raw);
    else if (value) JSON.parse(compact(value));
  } catch (error) {
    if (raw !== undefined) return `This is not JSON: ${(error as Error).message}`;
    return `${placeOf(unreadIn(value) ?? "", undefined, "The value")} is not complete. A number has a point, as in 12.50.`;
  }
  return "";
}

/** unreadIn returns the path of the first part of a value that is no JSON. */
export function unreadIn(node: Node | undefined, path = ""): string | undefined {
  const parts =
    node?.kind === "object"
      ? node.members.map((m) => unreadIn(m.value, pathOf(m.name, path)))
      : node?.kind === "array"
        ? node.items.map((n, i) => unreadIn(n, `${path}/${i}`))
        : [];
  if (node?.kind !== "text") return parts.find((p) => p !== undefined);
  try {
    JSON.parse(node.source);
    return undefined;
  } catch {
    return path;
  }
}
