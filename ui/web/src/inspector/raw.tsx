import type { Schemas } from "../api/client";
import { bytes } from "../data/checkpoints";
import { Id } from "../parts/id";
import css from "./inspector.module.css";

/** Raw stands for a value that is not shown, and says why: it is no text, or too large. */
export const Raw = ({ side, part }: { side: "was" | "is"; part: Schemas["PartSide"] }) => (
  <p className={css.quiet}>
    {side} {bytes(part.size)}
    {part.codec === "json"
      ? ", too large to show whole here"
      : `, binary: codec ${part.codec}, which the program that wrote it reads`}
    , SHA-256 <Id>{part.hash}</Id>
  </p>
);
