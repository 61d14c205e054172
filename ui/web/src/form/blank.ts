// Values that are not given. A form has a field for each member that a schema knows; those that a
// person leaves empty are not sent.

import { isText, member, stringOf, type Node } from "../text/json";

const deepest = 8;

/** absent stands in the place of a value that is not given. */
export const absent: Node & { kind: "text" } = { kind: "text", source: "" };

export const isAbsent = (node: Node) => node.kind === "text" && node.source === "";

/** needed says whether a schema requires a member. */
export const needed = (schema: Node | undefined, name: string) => {
  const required = member(schema, "required");
  return required?.kind === "array" && required.items.some((i) => stringOf(i) === name);
};

/** draws says whether every part of a value has a field of its own. */
export function draws(node: Node): boolean {
  if (node.kind === "text") return true;
  if (node.kind === "array") return node.items.every(draws);
  return (
    new Set(node.members.map((m) => m.name)).size === node.members.length && node.members.every((m) => draws(m.value))
  );
}

/** typeOf returns the type that a schema names, beside null. */
export function typeOf(schema: Node | undefined): string | undefined {
  const type = member(schema, "type");
  return (
    stringOf(type) ?? (type?.kind === "array" ? type.items.map(stringOf).find((t) => t && t !== "null") : undefined)
  );
}

/** blank returns a value of a schema in which nothing is given but what the schema has a default for. */
export function blank(schema: Node | undefined, depth = 0): Node {
  const preset = member(schema, "default");
  if (preset) return preset;
  const properties = member(schema, "properties");
  if (typeOf(schema) === "object" && properties?.kind === "object" && depth < deepest) {
    const members = properties.members.map((p) => ({
      name: p.name,
      source: p.source,
      value: blank(p.value, depth + 1),
    }));
    return { kind: "object", members };
  }
  return typeOf(schema) === "array" ? { kind: "array", items: [] } : absent;
}

/** complete returns a value with a place for each member that the schema knows, in the schema's order. */
export function complete(value: Node | undefined, schema: Node | undefined, depth = 0): Node {
  if (value === undefined || isAbsent(value) || isText(value, "null")) return blank(schema, depth);
  const properties = member(schema, "properties");
  if (value.kind !== "object" || properties?.kind !== "object" || depth >= deepest) return value;
  const known = properties.members.map((p) => ({
    name: p.name,
    source: value.members.find((m) => m.name === p.name)?.source ?? p.source,
    value: complete(member(value, p.name), p.value, depth + 1),
  }));
  const others = value.members.filter((m) => !properties.members.some((p) => p.name === m.name));
  return { kind: "object", members: [...known, ...others] };
}

/**
 * given returns a value without what is absent, and undefined where nothing is left. With bare, empty lists
 * are left out of objects, except for those that the schema requires.
 */
export function given(node: Node, bare = false, schema?: Node): Node | undefined {
  if (isAbsent(node)) return undefined;
  if (node.kind === "array") {
    const of = member(schema, "items");
    return { kind: "array", items: node.items.flatMap((n) => given(n, bare, of) ?? []) };
  }
  if (node.kind === "text") return node;
  const members = node.members.flatMap((m) => {
    const value = given(m.value, bare, member(member(schema, "properties"), m.name));
    const empty = bare && value?.kind === "array" && value.items.length === 0 && !needed(schema, m.name);
    return value && !empty ? [{ ...m, value }] : [];
  });
  return members.length === 0 && node.members.length > 0 ? undefined : { kind: "object", members };
}
