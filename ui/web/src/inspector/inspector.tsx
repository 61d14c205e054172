import type { Schemas } from "../api/client";
import { Id } from "../parts/id";
import type { Where } from "../thread/address";

type Props = { thread: Schemas["Thread"]; where: Where; go: (to: Partial<Where>) => void };

/** Inspector shows the checkpoint that is looked at. */
export const Inspector = ({ where }: Props) => <p>{where.at && <Id whole>{where.at}</Id>}</p>;
