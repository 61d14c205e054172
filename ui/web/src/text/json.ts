// JSON read without changing it. JSON.parse makes floats of numbers: an account 9007199254740993
// becomes ...992. Here each number, string and name keeps its source, the text that it has on
// record, and members keep their order, also where two have one name.

import { escaped } from "./hidden";

export type Member = { name: string; source: string; value: Node };
export type Node =
  { kind: "object"; members: Member[] } | { kind: "array"; items: Node[] } | { kind: "text"; source: string };

const isSpace = (char: string | undefined) => char === " " || char === "\t" || char === "\n" || char === "\r";

/** read returns a JSON text as a tree. It throws a SyntaxError for other texts, as JSON.parse does. */
export function read(text: string): Node {
  JSON.parse(text);
  let at = 0;
  const next = () => {
    while (isSpace(text[at])) at++;
    return text[at];
  };
  const taken = (char: string) => next() === char && ++at > 0; // and passed over
  const source = () => {
    const start = at;
    if (text[at] === '"') {
      for (at++; text[at] !== '"'; at++) at += text[at] === "\\" ? 1 : 0;
      at++;
    } else {
      while (at < text.length && !isSpace(text[at]) && !",]}".includes(text[at] ?? "")) at++;
    }
    return text.slice(start, at);
  };
  const list = <T>(end: string, one: () => T) => {
    const all: T[] = [];
    for (at++; !taken(end); taken(",")) all.push(one());
    return all;
  };
  const member = (): Member => {
    next();
    const name = source();
    taken(":");
    return { name: JSON.parse(name) as string, source: name, value: value() };
  };
  const value = (): Node => {
    switch (next()) {
      case "{":
        return { kind: "object", members: list("}", member) };
      case "[":
        return { kind: "array", items: list("]", value) };
      default:
        return { kind: "text", source: source() };
    }
  };
  return value();
}

type Style = { line: (depth: number) => string; colon: string; token: (source: string) => string };

function write(node: Node, style: Style, depth = 1): string {
  const inside = (open: string, parts: string[], close: string) =>
    parts.length
      ? open + style.line(depth) + parts.join(`,${style.line(depth)}`) + style.line(depth - 1) + close
      : open + close;
  const deeper = (n: Node) => write(n, style, depth + 1);
  switch (node.kind) {
    case "object":
      return inside(
        "{",
        node.members.map((m) => style.token(m.source) + style.colon + deeper(m.value)),
        "}",
      );
    case "array":
      return inside("[", node.items.map(deeper), "]");
    default:
      return style.token(node.source);
  }
}

/** readable returns a token as people read it: strings lose escapes that say nothing, hidden characters get one. */
const readable = (source: string) => (source[0] === '"' ? escaped(JSON.stringify(JSON.parse(source))) : source);

/** compact returns a tree as the text that is sent: each source as it is. */
export const compact = (node: Node) => write(node, { line: () => "", colon: ":", token: (source) => source });

/** pretty returns a tree as the text that people read. [keep] undoes what it changed. */
export const pretty = (node: Node) =>
  write(node, { line: (depth) => `\n${"  ".repeat(depth)}`, colon: ": ", token: readable });

/** inline returns a tree in one line. */
export const inline = (node: Node) => write(node, { line: () => "", colon: ":", token: readable });

/** keep returns an edited tree with the sources of the original wherever the two say the same. */
export function keep(edited: Node, original: Node | undefined): Node {
  if (edited.kind === "object" && original?.kind === "object") {
    return {
      kind: "object",
      members: edited.members.map((m, i) => {
        const beside = original.members[i];
        const place = beside?.name === m.name ? beside : original.members.find((o) => o.name === m.name);
        return { name: m.name, source: place?.source ?? m.source, value: keep(m.value, place?.value) };
      }),
    };
  }
  if (edited.kind === "array" && original?.kind === "array") {
    return { kind: "array", items: edited.items.map((n, i) => keep(n, original.items[i])) };
  }
  if (edited.kind === "text" && original?.kind === "text" && readable(edited.source) === readable(original.source)) {
    return original;
  }
  return edited;
}

/** texts returns the strings and names in a tree. */
export function texts(node: Node | undefined): string[] {
  switch (node?.kind) {
    case "object":
      return node.members.flatMap((m) => [m.name, ...texts(m.value)]);
    case "array":
      return node.items.flatMap(texts);
    case "text":
      return node.source[0] === '"' ? [JSON.parse(node.source) as string] : [];
    default:
      return [];
  }
}

/** member returns an object's member, the last of that name as JSON.parse does. */
export const member = (node: Node | undefined, name: string): Node | undefined =>
  node?.kind === "object" ? node.members.findLast((m) => m.name === name)?.value : undefined;

/** stringOf returns the string that a node is. */
export const stringOf = (node: Node | undefined): string | undefined =>
  node?.kind === "text" && node.source[0] === '"' ? (JSON.parse(node.source) as string) : undefined;

export const isText = (node: Node | undefined, source: string) => node?.kind === "text" && node.source === source;

/** text returns a leaf with a string. */
export const stringNode = (text: string): Node => ({ kind: "text", source: JSON.stringify(text) });

/**
 * fill returns the value that an edit begins with. Of an object it has those members that the schema
 * has a place for, and those that it requires, with their default, or null, which a person has to
 * replace. Without such a schema it is the value.
 */
export function fill(value: Node | undefined, schema: Node | undefined): Node | undefined {
  const properties = member(schema, "properties");
  if (!properties || (value && value.kind !== "object")) return value;
  const closed = isText(member(schema, "additionalProperties"), "false") && !member(schema, "patternProperties");
  const members: Member[] = [];
  for (const m of value?.members ?? []) {
    const property = member(properties, m.name);
    if (property || !closed) members.push({ ...m, value: fill(m.value, property) ?? m.value });
  }
  const required = member(schema, "required");
  for (const item of required?.kind === "array" ? required.items : []) {
    const name = stringOf(item);
    if (name === undefined || item.kind !== "text" || members.some((m) => m.name === name)) continue;
    const property = member(properties, name);
    const start = member(property, "default") ?? fill(undefined, property) ?? { kind: "text", source: "null" };
    members.push({ name, source: item.source, value: start });
  }
  return { kind: "object", members };
}

/** onRecord returns what the API gave as text (values=text) as a tree, and undefined where there is nothing. */
export function onRecord(text: unknown): Node | undefined {
  if (text === undefined) return undefined;
  if (typeof text !== "string") return read(JSON.stringify(text));
  try {
    return read(text);
  } catch {
    return stringNode(text); // what is no JSON, such as a state of another codec
  }
}
