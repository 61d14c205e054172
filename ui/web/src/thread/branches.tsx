import { useMemo, useState } from "react";
import type { Schemas } from "../api/client";
import { Chip } from "../parts/chip";
import { Dialog } from "../parts/dialog";
import { Said } from "../parts/said";
import { Ago } from "../parts/time";
import { marked } from "../text/hidden";
import { isFork, type Row } from "./items";
import { nameOf } from "./tell";
import css from "./branches.module.css";

type Branch = NonNullable<Schemas["Thread"]["branches"]>[number];
type Props = {
  open: boolean;
  close: () => void;
  branches: Branch[];
  rows: Row[];
  chosen: string;
  choose: (branch: string) => void;
};

/** Branches lists all branches of a thread: how each stands, where it ends, who made it and from where. */
export const Branches = ({ open, close, ...rest }: Props) => (
  <Dialog open={open} close={close} title="Branches" top>
    <List {...rest} />
  </Dialog>
);

function List({ branches, rows, chosen, choose }: Omit<Props, "open" | "close">) {
  const [text, setText] = useState("");
  const about = useMemo(() => {
    const byID = new Map(rows.map((r) => [r.id, r]));
    const born = new Map<string, Row>();
    for (const r of rows) if (r.source) born.set(r.branch, r);
    return { byID, born };
  }, [rows]);
  const found = branches.filter((b) => b.branch.toLowerCase().includes(text.trim().toLowerCase()));
  return (
    <div className={css.branches}>
      <input
        className={css.search}
        autoFocus
        value={text}
        placeholder={`Find one of ${branches.length} branches`}
        aria-label="find a branch"
        onChange={(e) => setText(e.target.value)}
        onKeyDown={(e) => {
          if (e.key === "Enter" && found[0]) choose(found[0].branch);
        }}
      />
      <ul>
        {found.map((b) => {
          const head = about.byID.get(b.head);
          const born = about.born.get(b.branch);
          const from = born?.parent ? about.byID.get(born.parent) : undefined;
          const why = born?.line ?? (born?.changed?.length ? `with another ${born.changed.join(", ")}` : "");
          return (
            <li key={b.branch}>
              <button
                type="button"
                className={b.branch === chosen ? `${css.branch} ${css.on}` : css.branch}
                aria-current={b.branch === chosen ? "true" : undefined}
                onClick={() => choose(b.branch)}
              >
                <span className={css.name} title={marked(b.branch)}>
                  <Said>{b.branch}</Said>
                </span>
                <Chip state={b.status || "saved"} />
                <span className={css.about}>
                  #{b.seq}
                  {head && (
                    <>
                      {!isFork(head) && (
                        <>
                          {" "}
                          <Said>{nameOf(head)}</Said>
                        </>
                      )}
                      , <Ago at={head.at} />
                    </>
                  )}
                  {born && (
                    <>
                      {" · forked"}
                      {from && ` from #${from.seq}`}
                      {born.by && (
                        <>
                          {" "}
                          by <Said>{born.by}</Said>
                        </>
                      )}
                      {why && (
                        <>
                          , <Said>{why}</Said>
                        </>
                      )}
                    </>
                  )}
                </span>
              </button>
            </li>
          );
        })}
      </ul>
      {found.length === 0 && <p className={css.none}>No branch has this in its name.</p>}
    </div>
  );
}
