import { Draft } from "../fork/draft";
import { headOf, useStory, type Thread } from "../data/checkpoints";
import { Skeleton } from "../parts/notice";
import { Key } from "../parts/key";
import { Panes } from "../parts/tabs";
import { WhyUnread } from "../parts/unread";
import { LongLists } from "../parts/value";
import type { Tab, Where } from "../thread/address";
import { Change } from "./change";
import { Compare } from "./compare";
import { EntryTab } from "./entry";
import { StateTab } from "./state";
import { StepTab } from "./step";
import css from "./inspector.module.css";

type Props = { thread: Thread; where: Where; go: (to: Partial<Where>) => void };

const panes: { name: Tab; title: React.ReactNode }[] = [
  { name: "change", title: "Change" },
  { name: "state", title: "State" },
  { name: "step", title: "Step" },
  {
    name: "compare",
    title: (
      <>
        Compare <Key>c</Key>
      </>
    ),
  },
  { name: "entry", title: "Entry" },
];

/** Lists in the inspector fold when they are longer. */
const maxRows = 200;

/** Inspector shows one checkpoint: what it changed, its state, its steps, and its entry in the log. */
export function Inspector({ thread, where, go }: Props) {
  const at = where.at ?? headOf(thread, where.branch);
  const story = useStory(at);
  if (where.draft && story.data) return <Draft key={at} at={story.data} go={go} />;
  return (
    <LongLists.Provider value={maxRows}>
      <section className={css.inspector} aria-label="checkpoint">
        <header className={css.tabs}>
          <Panes panes={panes} on={where.tab} show={(tab) => go({ tab })} label="views of the checkpoint" />
        </header>
        <div className={css.scroll} tabIndex={0} role="group" aria-label={`view: ${where.tab}`}>
          {story.isPending && at && <Skeleton rows={8} height={32} />}
          {story.error && !story.data && <WhyUnread error={story.error} />}
          {story.data && <Pane key={`${at}/${where.tab}`} {...{ thread, where, go }} at={story.data} />}
          {!at && <p className={css.quiet}>The thread has no checkpoint.</p>}
        </div>
      </section>
    </LongLists.Provider>
  );
}

export type PaneProps = Props & { at: NonNullable<ReturnType<typeof useStory>["data"]> };

function Pane(props: PaneProps) {
  switch (props.where.tab) {
    case "state":
      return <StateTab {...props} />;
    case "compare":
      return <Compare {...props} />;
    case "entry":
      return <EntryTab {...props} />;
    case "step":
      return <StepTab {...props} />;
    default:
      return <Change {...props} />;
  }
}
