import { useEffect, useMemo } from "react";
import { useLocation, useSearch } from "wouter";
import { Problem } from "../api/client";
import { useRows, useThread } from "../data/thread";
import { Skeleton } from "../parts/notice";
import { Said } from "../parts/said";
import { Bar } from "../shell/bar";
import { Unread } from "../shell/missing";
import { marked } from "../text/hidden";
import { entryOf, threadOf, whereOf } from "./address";
import { Numbered } from "./numbered";
import { useOwnVersion } from "./own-version";
import { Loaded } from "./screen";
import { Gone, Versions } from "./versions";

/** ThreadScreen reads the thread, or the version of it, that an address names. */
export function ThreadScreen() {
  useLocation();
  const search = useSearch();
  const name = threadOf(location.pathname, search);
  const { version, at, with: pinned } = whereOf(search);
  const numbered = entryOf(at) ?? entryOf(pinned);
  const thread = useThread(name, version);
  const waiting = useMemo(() => thread.data?.waiting?.map((w) => w.id) ?? [], [thread.data?.waiting]);
  const generation = thread.data?.generation;
  const of = version === undefined ? { thread: name } : generation ? { thread: name, generation } : undefined;
  const read = useRows(of, thread.data ? waiting : undefined);
  useOwnVersion(name, thread, read);
  useEffect(() => {
    document.title = `${marked(name)} · Posthouse`;
  }, [name]);
  if (thread.data && numbered === undefined)
    return <Loaded key={`${name} ${version ?? ""}`} thread={thread.data} read={read} />;
  const missing = thread.error && (
    <Unread
      error={thread.error}
      what={version === undefined ? "thread" : `version ${version} of the thread`}
      name={name}
      ways={[{ name: "All threads", href: "/threads" }]}
    >
      It was deleted, or never began, or its name is another.
    </Unread>
  );
  return (
    <>
      <Bar title={<Said>{name}</Said>} />
      {thread.data && <Numbered thread={thread.data} />}
      {!thread.data && !missing && <Skeleton rows={14} height={32} />}
      {missing && (isMissing(thread.error) && version === undefined ? <Gone thread={name}>{missing}</Gone> : missing)}
      {missing && version !== undefined && <Versions thread={name} />}
    </>
  );
}

const isMissing = (error: unknown) => error instanceof Problem && error.code === "not-found";
