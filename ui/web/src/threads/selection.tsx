import { X } from "lucide-react";
import { useMemo, useState } from "react";
import type { Thread } from "../data/threads";
import { Button } from "../parts/button";
import { Failure } from "../parts/notice";
import { BulkDialog, verbs } from "./bulk-dialog";
import { collect, type Verb } from "./bulk";
import type { Filter } from "./filter";
import css from "./selection.module.css";

type Props = {
  filter: Filter;
  selected: Set<string>;
  set: (threads: Set<string>) => void;
  /** whole says that all threads of the filter are among the rows. */
  whole: boolean;
  rows: Thread[];
  /** take shows the list as it is now: rows are held while some are chosen. */
  take: () => void;
};

/** Selection is the bar of what can be done to the chosen threads. */
export function Selection({ filter, selected, set, whole, rows, take }: Props) {
  const shown = rows.length;
  const [also, setAlso] = useState<ReadonlyMap<string, string>>(new Map());
  const graphs = useMemo(
    () => new Map([...also, ...rows.map((t) => [t.thread, t.graph ?? ""] as const)]),
    [also, rows],
  );
  const [verb, setVerb] = useState<Verb>();
  const [found, setFound] = useState<number>();
  const [error, setError] = useState<unknown>();
  const everything = async () => {
    setError(undefined);
    setFound(0);
    try {
      const { names, graphs: read, more } = await collect(filter, setFound, AbortSignal.timeout(120_000));
      setAlso(read);
      set(new Set(names));
      if (more) setError(new Error("these are the first 20,000; there are others, which are not chosen"));
    } catch (e) {
      setError(e);
    }
    setFound(undefined);
  };
  return (
    <div className={css.bar} role="region" aria-label="chosen threads">
      <strong>{selected.size.toLocaleString("en")} chosen</strong>
      {!whole && selected.size >= shown && found === undefined && (
        <Button tone="quiet" onClick={() => void everything()}>
          Choose all that fit
        </Button>
      )}
      {found !== undefined && <span role="status">{found.toLocaleString("en")} found</span>}
      <span className={css.verbs}>
        {verbs.map((v) => (
          <Button
            key={v.verb}
            icon={v.icon}
            title={v.says}
            tone={v.verb === "resume" ? "plain" : "danger"}
            disabled={found !== undefined}
            onClick={() => setVerb(v.verb)}
          >
            {v.name}
          </Button>
        ))}
      </span>
      <Button
        tone="quiet"
        icon={<X size={16} strokeWidth={1.5} aria-hidden />}
        aria-label="choose none"
        onClick={() => set(new Set())}
      />
      {error !== undefined && <Failure error={error} />}
      {verb && (
        <BulkDialog
          verb={verb}
          threads={[...selected]}
          graphs={graphs}
          close={() => setVerb(undefined)}
          keep={(failed) => {
            set(new Set(failed));
            take();
          }}
        />
      )}
    </div>
  );
}
