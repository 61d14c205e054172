import { inline, type Node } from "../text/json";
import { Fold } from "./fold";
import { Inline, Value } from "./value";
import css from "./texts.module.css";

const maxText = 100;

/** sizeOf says how much of a value there is. */
export function sizeOf(node: Node): string {
  const count = (n: number, one: string) => `${n.toLocaleString("en")} ${one}${n === 1 ? "" : "s"}`;
  if (node.kind === "array") return count(node.items.length, "item");
  if (node.kind === "object") return count(node.members.length, "member");
  return count(node.source[0] === '"' ? (JSON.parse(node.source) as string).length : node.source.length, "character");
}

/** isLong says whether a value does not fit in one line. */
export const isLong = (node: Node) => inline(node).length > maxText;

/** Same shows in one line what did not change. Of a long value it says the size, and opens it. */
export const Same = ({ node }: { node: Node }) => (
  <span className={css.same}>
    {isLong(node) ? (
      <Fold
        first={
          node.kind === "text" && (
            <>
              <Inline node={node} max={maxText} />{" "}
            </>
          )
        }
        rest={() => <Value node={node} />}
        size={sizeOf(node)}
      />
    ) : (
      <Inline node={node} max={Infinity} />
    )}
  </span>
);
