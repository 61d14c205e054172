import { member, type Node } from "../text/json";

/** pathOf returns the JSON pointer of a member below a path. */
export const pathOf = (name: string, path = "") => `${path}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;

/** placeOf returns how a form calls the place that a path leads to. The value itself is called whole. */
export function placeOf(path: string, schema: Node | undefined, whole: string): string {
  let of = schema;
  let name = whole;
  for (const n of path.split("/").slice(1)) {
    const plain = n.replaceAll("~1", "/").replaceAll("~0", "~");
    const index = /^\d+$/.test(n) && member(of, "items");
    of = index || member(member(of, "properties"), plain);
    name = index ? `${name}, entry ${Number(n) + 1},` : name.endsWith(",") ? `${name} “${plain}”` : `“${plain}”`;
  }
  return name;
}
