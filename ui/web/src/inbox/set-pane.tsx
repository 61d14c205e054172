import { useMemo, useState } from "react";
import type { Gate } from "../api/client";
import { now } from "../api/clock";
import { useDuplicated } from "../data/duplicates";
import { Empty, Failure, Skeleton } from "../parts/notice";
import { SetDetail } from "./set";
import { together as splitOf } from "./together";
import { waitingOf } from "./waiting";

type PaneProps = { gates: Gate[]; gone: Set<string>; unread: boolean; address: (id: string) => string };

/** SetPane keeps the questions of a set as they were when it was opened, without those that other branches ask too. */
export function SetPane({ gates, gone, unread, address }: PaneProps) {
  const [waiting] = useState(() => waitingOf(gates, gone));
  const also = useDuplicated(waiting);
  const kept = useMemo(() => also.data && splitOf(waiting, now(), also.data), [waiting, also.data]);
  if (also.error) return <Failure error={also.error} safe="Nothing was decided." />;
  if (!kept) return <Skeleton rows={8} height={36} />;
  return kept.set.length > 0 ? (
    <SetDetail gates={kept.set} left={kept.left} unread={unread} gone={gone} address={address} />
  ) : (
    <Empty title="Nothing to decide together">What waits here has to be decided one by one.</Empty>
  );
}
