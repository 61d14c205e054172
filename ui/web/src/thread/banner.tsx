import { GitFork, History } from "lucide-react";
import { Button } from "../parts/button";
import { Said } from "../parts/said";
import css from "./banner.module.css";

type Props = { seq: number; head: number; branch: string; back: () => void; fork: (() => void) | undefined };

/** Banner says that a past checkpoint is looked at. Going back destroys nothing. */
export const Banner = ({ seq, head, branch, back, fork }: Props) => (
  <div className={css.banner} role="status">
    <History size={16} strokeWidth={1.5} aria-hidden />
    <p>
      You look at <b>#{seq}</b>. The head of <Said>{branch}</Said> is #{head}. Nothing here changes what is on record.
    </p>
    <Button onClick={back}>Back to the head</Button>
    {fork && (
      <Button onClick={fork} icon={<GitFork size={16} strokeWidth={1.5} aria-hidden />}>
        Fork from #{seq}
      </Button>
    )}
  </div>
);
