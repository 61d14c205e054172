import { useEffect } from "react";
import { useLocation, useSearch } from "wouter";
import { useThread } from "../data/thread";
import { Inspector } from "../inspector/inspector";
import { Chip } from "../parts/chip";
import { Failure, Skeleton } from "../parts/notice";
import { Said } from "../parts/said";
import { Bar } from "../shell/bar";
import { marked } from "../text/hidden";
import { threadOf, useWhere } from "./address";
import css from "./screen.module.css";

/** ThreadScreen is one thread: its branches as lanes, a row a checkpoint, and what is looked at of it. */
export function ThreadScreen() {
  useLocation();
  const search = useSearch();
  const name = threadOf(location.pathname, search);
  const thread = useThread(name);
  const [where, go] = useWhere();
  useEffect(() => {
    document.title = `${marked(name)} · Posthouse`;
  }, [name]);
  return (
    <>
      <Bar title={<Said>{name}</Said>}>{thread.data && <Chip state={thread.data.status} />}</Bar>
      {thread.isPending && <Skeleton rows={12} height={32} />}
      {thread.error && !thread.data && <Failure error={thread.error} />}
      {thread.data && (
        <div className={css.screen}>
          <div className={css.rows} />
          <aside className={css.inspector} aria-label="checkpoint">
            <Inspector thread={thread.data} where={where} go={go} />
          </aside>
        </div>
      )}
    </>
  );
}
