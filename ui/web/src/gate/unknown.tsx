import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { api, get, type Gate } from "../api/client";
import { Card } from "../parts/card";
import { named } from "../parts/id";
import { Failure } from "../parts/notice";
import { Said } from "../parts/said";
import { At } from "../parts/time";
import { inThread, threadPath } from "../thread/address";
import { effectOf } from "./right";
import { DecidedBy } from "./settled";
import css from "./unknown.module.css";

const most = 1000;

/** Unknown says of which effect nobody knows whether it was done, who approved it, and where. */
export function Unknown({ gate }: { gate: Gate }) {
  const name = effectOf(gate);
  const read = useQuery({
    queryKey: ["live", "effects", gate.thread],
    queryFn: ({ signal }) =>
      get(api.GET("/api/threads/{id}/effects", { signal, params: inThread(gate.thread, { limit: most }) })),
  });
  // The attempt that is asked about is the last that began before the question.
  const effect = read.data?.items.findLast((e) => e.name === name && e.branch === gate.branch && e.first < gate.seq);
  const begun = effect?.attempts?.at(-1)?.at;
  return (
    <Card title="What is not known" label="what is not known">
      {read.error && <Failure error={read.error} />}
      <dl className={css.rows}>
        <div>
          <dt>effect</dt>
          <dd>
            <strong>
              <Said>{name}</Said>
            </strong>{" "}
            began and no outcome is on record
            {begun && (
              <>
                {" "}
                since <At at={begun} />
              </>
            )}
            . It may have been done, or not.
          </dd>
        </div>
        {effect?.decision && (
          <div>
            <dt>licence</dt>
            <dd>
              <DecidedBy decision={effect.decision} />, <At at={effect.decision.at} />{" "}
              {effect.grant && (
                <Link href={`/gates/${encodeURIComponent(effect.grant)}`}>the approval and its receipt</Link>
              )}
            </dd>
          </div>
        )}
        <div>
          <dt>thread</dt>
          <dd>
            <Link href={threadPath(gate.thread, { at: gate.checkpoint, branch: gate.branch })}>
              <Said>{named(gate.thread)}</Said>
            </Link>
            {effect && ` entry #${effect.first}`}
          </dd>
        </div>
      </dl>
    </Card>
  );
}
