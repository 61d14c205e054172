import { useQuery } from "@tanstack/react-query";
import { api, get } from "../api/client";
import { Chip } from "../parts/chip";
import { Empty } from "../parts/notice";
import { Said } from "../parts/said";
import { At } from "../parts/time";
import { inThread } from "./address";
import css from "./versions.module.css";

const most = 100;

const useVersions = (thread: string) =>
  useQuery({
    queryKey: ["live", "versions", thread],
    retry: false,
    queryFn: ({ signal }) =>
      get(api.GET("/api/threads/{id}/releases", { signal, params: inThread(thread, { limit: most }) })),
  });

/** Versions lists the versions that a thread was released as. Without any it is nothing. */
export function Versions({ thread }: { thread: string }) {
  const list = useVersions(thread).data;
  if (!list || list.items.length === 0) return null;
  return (
    <section className={css.versions} aria-label="released versions">
      <h2>Released versions</h2>
      <ol>
        {list.items.map((v) => (
          <li key={v.version}>
            <strong>version {v.version}</strong>
            <span>
              <At at={v.at} />
              {v.by && (
                <>
                  {" "}
                  by <Said>{v.by}</Said>
                </>
              )}
              , {v.checkpoints} {v.checkpoints === 1 ? "checkpoint" : "checkpoints"}
              {v.reason && (
                <>
                  , “<Said>{v.reason}</Said>”
                </>
              )}
            </span>
            {(v.tags ?? []).map((t) => (
              <code key={t}>
                <Said>{t}</Said>
              </code>
            ))}
            <Chip state={v.heads?.[0]?.status || "saved"} />
          </li>
        ))}
      </ol>
      {list.next && <p>and older ones</p>}
      <p>
        Each stays readable:{" "}
        <code>
          posthouse log <Said>{thread}</Said> --version {list.items[0]?.version}
        </code>
      </p>
    </section>
  );
}

/** Released is what is left on the screen of a thread that was released. */
export const Released = ({ thread }: { thread: string }) => (
  <>
    <Empty title="The thread was released">
      Its name is free: the next run of that name begins with nothing. What was done stays on record as a version.
    </Empty>
    <Versions thread={thread} />
  </>
);
