import { Check, Link2 } from "lucide-react";
import { useState, type Ref } from "react";
import { Link } from "wouter";
import { Button } from "../parts/button";
import { Chip } from "../parts/chip";
import { Said } from "../parts/said";
import { exact } from "../parts/time";
import { threadPath } from "../thread/address";
import type { Run } from "./fill";
import css from "./start.module.css";

const icon = { size: 14, strokeWidth: 1.5, "aria-hidden": true } as const;

/** Begun says which run has begun, with its whole name and a link to copy. */
export function Begun({ run, link }: { run: Run; link: Ref<HTMLAnchorElement> }) {
  const [copied, setCopied] = useState(false);
  const path = threadPath(run.thread);
  const copy = async () => {
    await navigator.clipboard?.writeText(location.origin + path);
    setCopied(true);
  };
  return (
    <div className={css.begun} role="status">
      <Chip state={run.status || "running"} />
      <Link href={path} ref={link}>
        <Said>{run.thread}</Said>
      </Link>
      <span>{run.startAt ? `is on record, and starts ${exact(run.startAt)}` : "is on record"}</span>
      <Button tone="quiet" icon={copied ? <Check {...icon} /> : <Link2 {...icon} />} onClick={() => void copy()}>
        {copied ? "Copied" : "Copy link"}
      </Button>
    </div>
  );
}
