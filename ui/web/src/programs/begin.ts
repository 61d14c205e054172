import { typeOf } from "../form/blank";
import { member, type Node } from "../text/json";

/** The address that the command line asks unless it is told another one. */
const usual = "http://127.0.0.1:8095";

/** example is the shortest JSON of a schema that shows what goes where. */
function example(schema: Node | undefined, depth = 0): string {
  const properties = member(schema, "properties");
  switch (typeOf(schema)) {
    case "string":
      return '"a request"';
    case "integer":
    case "number":
      return "0";
    case "boolean":
      return "false";
    case "array":
      return "[]";
    case "object":
      if (properties?.kind !== "object" || depth > 2) return "{}";
      return `{${properties.members.map((p) => `${JSON.stringify(p.name)}:${example(p.value, depth + 1)}`).join(",")}}`;
  }
  return "null";
}

/** quoted is a word of a shell's command line. */
const quoted = (word: string) => (/^[\w.:/=@%+-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`);

/** beginCommand is what a person types to begin a run of a program on the server at an origin. */
export const beginCommand = (name: string, input: Node | undefined, origin: string): string =>
  `posthouse run start ${quoted(name)} ${quoted(example(input))}${at(origin)}`;

/** at is what a command needs to find the server at an origin. */
export const at = (origin: string) => (origin === usual ? "" : ` --server ${quoted(origin)}`);
