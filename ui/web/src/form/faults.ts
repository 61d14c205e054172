// What a value lacks before it can be sent, by its schema and in words. The server has the last word:
// what is not certain here is left to it.

import { compact, isText, member, stringOf, type Node } from "../text/json";
import { isAbsent, needed } from "./blank";
import { pathOf } from "./place";

/** A Fault is at a place of a value, which its path leads to: /items/0/name, or "" for the whole. */
export type Fault = { path: string; says: string; missing?: boolean };

const words: Record<string, string> = {
  string: "a text",
  number: "a number, with a point as in 12.50",
  integer: "a whole number, with digits only",
  boolean: "yes or no",
  object: "an object",
  array: "a list",
  null: "nothing",
};

const typesOf = (schema: Node | undefined): string[] => {
  const type = member(schema, "type");
  return (type?.kind === "array" ? type.items : type ? [type] : []).flatMap((t) => stringOf(t) ?? []);
};

/** kindOf returns the type of a value, and undefined for a text that is no JSON. */
function kindOf(node: Node): string | undefined {
  if (node.kind !== "text") return node.kind;
  try {
    const value: unknown = JSON.parse(node.source);
    return value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
  } catch {
    return undefined;
  }
}

const isWhole = (source: string) => !/^-?\d+\.\d*[1-9]/.test(source) || /e/i.test(source);

/** faultsOf returns what is wrong with a value. With need, nothing at all is wrong, too. */
export function faultsOf(node: Node | undefined, schema: Node | undefined, need = true, path = ""): Fault[] {
  const types = typesOf(schema);
  const options = member(schema, "enum");
  const fault = (says: string): Fault[] => [{ path, says }];
  if (
    !node ||
    isAbsent(node) ||
    (isText(node, "null") && types.length + (options ? 1 : 0) > 0 && !types.includes("null"))
  ) {
    if (options?.kind === "array" && node && options.items.some((o) => compact(o) === compact(node))) return [];
    if (!need) return [];
    const says = options ? "choose one" : types[0] === "boolean" ? "choose yes or no" : "needs a value";
    return [{ path, says, missing: true }];
  }
  const kind = kindOf(node);
  const fits =
    kind !== undefined &&
    (types.length === 0 ||
      types.includes(kind) ||
      (kind === "number" && types.includes("integer") && isWhole(compact(node))));
  if (!fits) return fault(`must be ${types.map((t) => words[t] ?? t).join(" or ") || "JSON"}`);
  const text = stringOf(node);
  if (options?.kind === "array" && text !== undefined && !options.items.some((o) => stringOf(o) === text))
    return fault("is none of those that can be chosen");
  if (text !== undefined) return ofText(text, schema).flatMap(fault);
  if (node.kind === "array") {
    const items = node.items.flatMap((n, i) => faultsOf(n, member(schema, "items"), true, `${path}/${i}`));
    return [...ofCount(node.items.length, schema, "Items", "entries").flatMap(fault), ...items];
  }
  if (node.kind === "object") return ofMembers(node, schema, path);
  return kind === "number" ? ofNumber(node.source, schema).flatMap(fault) : [];
}

function ofMembers(node: Node & { kind: "object" }, schema: Node | undefined, path: string): Fault[] {
  const properties = member(schema, "properties");
  const known = properties?.kind === "object" ? properties.members.map((p) => p.name) : [];
  const closed = isText(member(schema, "additionalProperties"), "false") && !member(schema, "patternProperties");
  const required = member(schema, "required");
  const names = required?.kind === "array" ? required.items.flatMap((r) => stringOf(r) ?? []) : [];
  const all = [...new Set([...known, ...names, ...node.members.map((m) => m.name)])];
  return all.flatMap((name) => {
    const value = member(node, name);
    if (value && closed && !known.includes(name))
      return [{ path: pathOf(name, path), says: "is not one of its members" }];
    return faultsOf(value, member(properties, name), needed(schema, name), pathOf(name, path));
  });
}

const limit = (schema: Node | undefined, name: string): number | undefined => {
  const at = member(schema, name);
  return at?.kind === "text" && kindOf(at) === "number" ? Number(at.source) : undefined;
};

function ofCount(n: number, schema: Node | undefined, of: string, what: string): string[] {
  const [least, most] = [limit(schema, `min${of}`), limit(schema, `max${of}`)];
  if (least !== undefined && n < least) return [`needs ${least} ${what} or more, and has ${n}`];
  return most !== undefined && n > most ? [`may have ${most} ${what} at most, and has ${n}`] : [];
}

function ofText(text: string, schema: Node | undefined): string[] {
  const length = ofCount([...text].length, schema, "Length", "characters");
  const pattern = stringOf(member(schema, "pattern"));
  // Patterns of other dialects are left to the server.
  if (length.length > 0 || !pattern || /\(\?|\\[zAQEC]|\[\[:/.test(pattern)) return length;
  try {
    return new RegExp(pattern, "u").test(text) ? [] : [`must fit ${pattern}`];
  } catch {
    return [];
  }
}

/** ofNumber compares by floats, which keep the order: only what they make equal is left to the server. */
function ofNumber(source: string, schema: Node | undefined): string[] {
  const n = Number(source);
  const short = source.length < 15;
  const [least, most] = [limit(schema, "minimum"), limit(schema, "maximum")];
  const [over, under] = [limit(schema, "exclusiveMinimum"), limit(schema, "exclusiveMaximum")];
  if (least !== undefined && n < least) return [`must be ${least} or more`];
  if (most !== undefined && n > most) return [`must be ${most} at most`];
  if (over !== undefined && (n < over || (short && n === over))) return [`must be more than ${over}`];
  if (under !== undefined && (n > under || (short && n === under))) return [`must be less than ${under}`];
  return [];
}
