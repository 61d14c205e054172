import { useInfiniteQuery } from "@tanstack/react-query";
import { Archive } from "lucide-react";
import { useState, type ReactNode } from "react";
import { Link } from "wouter";
import { api, get, type Schemas } from "../api/client";
import { useEntry, useVerdict } from "../data/entry";
import { useThread } from "../data/thread";
import { Button } from "../parts/button";
import { Chip } from "../parts/chip";
import { Dialog } from "../parts/dialog";
import { Empty, Skeleton } from "../parts/notice";
import { Said } from "../parts/said";
import { At } from "../parts/time";
import { Verdict } from "../parts/verdict";
import { inThread, threadPath } from "./address";
import css from "./versions.module.css";

type Release = Schemas["Release"];

const most = 100;

/** useVersions lists the versions that a thread was released as, the newest first, by page. */
export const useVersions = (thread: string, enabled = true) =>
  useInfiniteQuery({
    queryKey: ["live", "versions", thread],
    retry: false,
    enabled,
    initialPageParam: undefined as string | undefined,
    queryFn: ({ signal, pageParam }) =>
      get(
        api.GET("/api/threads/{id}/releases", {
          signal,
          params: inThread(thread, { limit: most, ...(pageParam ? { cursor: Number(pageParam) } : {}) }),
        }),
      ),
    getNextPageParam: (last) => last.next,
  });

const versionOf = (thread: string, v: Pick<Release, "version">) => threadPath(thread, { version: String(v.version) });

/** Gone stands in the place of a thread that is not there: it was released, or children say what else. */
export function Gone({ thread, children }: { thread: string; children: ReactNode }) {
  const list = useVersions(thread);
  if (list.isPending) return <Skeleton rows={6} height={32} />;
  if ((list.data?.pages[0]?.items ?? []).length === 0) return children;
  return (
    <>
      <Empty title="The thread was released">
        Its name is free: the next run of that name begins with nothing. What was done stays on record as a version.
      </Empty>
      <Versions thread={thread} />
    </>
  );
}

/** Versions lists the versions that a thread was released as. Without any it is nothing. */
export function Versions({ thread }: { thread: string }) {
  const list = useVersions(thread);
  const all = list.data?.pages.flatMap((p) => p.items) ?? [];
  if (all.length === 0) return null;
  return (
    <section className={css.versions} aria-label="released versions">
      <h2>Released versions</h2>
      <ol>
        {all.map((v) => (
          <li key={v.version}>
            <Link href={versionOf(thread, v)}>version {v.version}</Link>
            <span>
              <Released of={v} />, {v.checkpoints} {v.checkpoints === 1 ? "checkpoint" : "checkpoints"}
            </span>
            <Tags of={v} />
            <Chip state={v.heads?.[0]?.status || "saved"} />
          </li>
        ))}
      </ol>
      {list.hasNextPage && (
        <Button onClick={() => void list.fetchNextPage()} disabled={list.isFetchingNextPage}>
          Show older ones
        </Button>
      )}
      <p>
        Each stays readable, here and by{" "}
        <code>
          posthouse log <Said>{thread}</Said> --version {all[0]?.version}
        </code>
      </p>
    </section>
  );
}

/** Released says when a version was made, by which person, and why. */
const Released = ({ of }: { of: Release }) => (
  <>
    <At at={of.at} />
    {of.by && (
      <>
        {" "}
        by <Said>{of.by}</Said>
      </>
    )}
    {of.reason && (
      <>
        , “<Said>{of.reason}</Said>”
      </>
    )}
  </>
);

const Tags = ({ of }: { of: Release }) =>
  (of.tags ?? []).map((t) => (
    <code key={t}>
      <Said>{t}</Said>
    </code>
  ));

/** VersionLinks leads to a thread's newest versions, and to all. On one of them it leads to what the thread is now. */
export function VersionLinks({ thread }: { thread: Schemas["Thread"] }) {
  const name = thread.thread;
  const list = useVersions(name);
  const [open, setOpen] = useState(false);
  const all = list.data?.pages.flatMap((p) => p.items) ?? [];
  const here = thread.release?.version;
  const now = useThread(name);
  const shown = all.slice(0, 3);
  return (
    <span className={css.links}>
      {here !== undefined && now.data && <Link href={threadPath(name)}>now</Link>}
      {shown.map((v) => (
        <Link key={v.version} href={versionOf(name, v)} aria-current={v.version === here ? "page" : undefined}>
          {v.version}
        </Link>
      ))}
      {(all.length > shown.length || list.hasNextPage) && (
        <button type="button" onClick={() => setOpen(true)}>
          all {list.hasNextPage ? "of them" : all.length}
        </button>
      )}
      <Dialog open={open} close={() => setOpen(false)} title="released versions" top>
        <div className={css.dialog}>
          <Versions thread={name} />
        </div>
      </Dialog>
    </span>
  );
}

/** VersionBanner says which version is looked at, who closed it, and that its last entry is what was signed. */
export function VersionBanner({ thread, release }: { thread: string; release: Release }) {
  const entry = useEntry(thread, release.seq);
  const now = useThread(thread);
  const found = useVerdict(entry.data, {
    kind: "release",
    of: {},
    head: {
      by: release.by ?? "",
      reason: release.reason ?? "",
      tags: (release.tags ?? []).join("\n"),
      failed: release.failed ?? false,
    },
  });
  return (
    <div className={css.banner} role="note" aria-label="released version">
      <Archive size={16} strokeWidth={1.5} aria-hidden />
      <div>
        <p>
          <b>Version {release.version}</b>, released <Released of={release} />. {release.failed && "Its work failed. "}
          It does not change any more. <Tags of={release} />
        </p>
        <Verdict found={found} seq={release.seq} />
      </div>
      {now.data && <Link href={threadPath(thread)}>What the thread is now</Link>}
      {now.isError && <span>Nothing has begun under its name since</span>}
    </div>
  );
}
