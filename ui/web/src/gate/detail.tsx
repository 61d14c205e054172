import { ChevronRight, TriangleAlert } from "lucide-react";
import { useEffect, useMemo, useRef, type ReactNode } from "react";
import { Link } from "wouter";
import type { Gate } from "../api/client";
import { inSession, useGrant } from "../data/gates";
import { announce } from "../parts/announce";
import { Card, Note } from "../parts/card";
import { Chip } from "../parts/chip";
import { Fold, Folds, useFolds } from "../parts/fold";
import { named } from "../parts/id";
import { later } from "../parts/later";
import { Failure } from "../parts/notice";
import { Hidden, Said } from "../parts/said";
import { Ago, left, useNow } from "../parts/time";
import { useWidth } from "../parts/wide";
import { marked } from "../text/hidden";
import { onRecord, texts } from "../text/json";
import { changesOf, licenseOf } from "../text/terms";
import { threadPath } from "../thread/address";
import { Actions } from "./actions";
import { Approved } from "./content";
import { done, forget, stateOf, useOutcome } from "./decide";
import { useDraft } from "./draft";
import { useLatest } from "./latest";
import { isUnknown, rightOf } from "./right";
import css from "./detail.module.css";

const Unserved = later(async () => (await import("../programs/unserved")).Unserved);
const ValueForm = later(async () => (await import("./form")).ValueForm);
const Duplicates = later(async () => (await import("./duplicates")).Duplicates);
const Older = later(async () => (await import("./neighbours")).Older);
const Changes = later(async () => (await import("./changes")).Changes);
const Settled = later(async () => (await import("./settled")).Settled);
const State = later(async () => (await import("./state")).State);
const Unknown = later(async () => (await import("./unknown")).Unknown);

type Props = {
  listed: Gate;
  gone: boolean;
  back?: ReactNode;
  go: (id: string) => void;
  page?: boolean;
  /** The page chose the question by itself: keys wait for a moment. */
  byItself?: boolean;
  children?: ReactNode;
};

/**
 * GateDetail shows one question: where it comes from, what is asked, what a decision is about, and what
 * the person may do. It shows exactly what the digest that a decision sends stands for.
 */
export function GateDetail({ listed, gone, back, go, page, byItself, children }: Props) {
  const outcome = useOutcome(listed.id);
  const sent = outcome?.step === "acknowledged";
  const { gate, settled } = useLatest(listed, (gone || sent) && !page, page ?? false);
  const folds = useFolds();
  const draft = useDraft(gate);
  const article = useRef<HTMLElement>(null);
  const began = useRef(false);
  const wide = useWidth(900);
  useEffect(() => {
    if (!wide && !page) article.current?.focus({ preventScroll: true }); // it stands over the list
  }, []);
  useEffect(() => {
    // What had the focus is gone: keys and screen readers go on from the question.
    if (document.activeElement === document.body && began.current) article.current?.focus({ preventScroll: true });
    began.current = true;
  }, [draft.verb, outcome?.step]);
  useEffect(() => {
    if (outcome?.step !== "acknowledged") return;
    announce(`${done(outcome.verb)}. ${outcome.text}`);
    draft.open(undefined);
    if (outcome.verb === "take-back") forget(listed.id); // it waits as it did before
  }, [outcome]);
  const payload = useMemo(() => onRecord(gate.payload), [gate.payload]);
  return (
    <Folds scope={folds.scope}>
      <article
        ref={article}
        tabIndex={-1}
        className={page ? `${css.detail} ${css.page}` : css.detail}
        aria-label={marked(gate.intent)}
      >
        <div className={css.scroll}>
          <div className={css.in}>
            {back}
            <Place gate={gate} settled={settled} />
            <Intent text={gate.intent} />
            <About gate={gate} settled={settled} />
            {!settled && !inSession(gate) && <Older gate={gate} />}
            {!inSession(gate) && gate.thread && <Unserved thread={gate.thread} />}
            {gate.error && <Failure error={gate.error} safe="It cannot be decided so." />}
            <Hidden
              texts={[gate.name, gate.text, gate.note, gate.requestedBy, ...(gate.assignees ?? []), ...texts(payload)]}
            />
            {!settled && gate.duplicates && <Duplicates of={gate.duplicates} gate={gate} />}
            {isUnknown(gate) && <Unknown gate={gate} />}
            <Approved gate={gate} decided={settled} />
            {(settled || sent) && !page && <Settled gate={gate} />}
            {children}
            {gate.before && <Changes gate={gate} />}
            <Rest gate={gate} />
            <div ref={folds.end} />
            {!settled && (draft.verb === "edit" || draft.verb === "respond" || draft.verb === "happened") && (
              <ValueForm gate={gate} draft={draft} />
            )}
            {!inSession(gate) && <State key={gate.id} gate={gate} payload={payload} />}
          </div>
        </div>
        <Actions
          gate={gate}
          settled={settled}
          draft={draft}
          folded={folds.folded}
          showAll={folds.showAll}
          byItself={byItself ?? false}
          go={go}
        />
      </article>
    </Folds>
  );
}

function Place({ gate, settled }: { gate: Gate; settled: boolean }) {
  const now = useNow();
  const grant = useGrant(settled && !inSession(gate) ? gate.id : undefined);
  const state = settled ? stateOf(grant.data?.gate ?? gate, grant.data) : isUnknown(gate) ? "unknown" : "waiting";
  return (
    <div className={css.place}>
      {inSession(gate) ? (
        <span>the caller's connection; closing it is a no</span>
      ) : (
        <>
          <Link href={threadPath(gate.thread, { at: gate.checkpoint, branch: gate.branch })} className={css.thread}>
            <Said>{named(gate.thread)}</Said>
          </Link>
          <ChevronRight size={12} aria-hidden />
          <Link href={`/gates/${encodeURIComponent(gate.id)}`}>
            <Said>{gate.branch}</Said> #{gate.seq}
          </Link>
        </>
      )}
      <span className={css.state}>
        <Chip state={state} also={!settled && gate.expiresAt ? left(gate.expiresAt, now) : undefined} />
      </span>
    </div>
  );
}

/** Intent is the one question on the screen, cut after three lines. */
export function Intent({ text }: { text: string }) {
  if (text.length < 220)
    return (
      <h2 className={css.intent}>
        <Said>{text}</Said>
      </h2>
    );
  return (
    <h2 className={css.intent}>
      <Fold
        first={
          <span className={css.clamp}>
            <Said>{text}</Said>
          </span>
        }
        rest={() => <Said>{text}</Said>}
        size={`${text.length} characters`}
      />
    </h2>
  );
}

function About({ gate, settled }: { gate: Gate; settled: boolean }) {
  const names = [...new Set([gate.requestedBy, ...(gate.requesters ?? []).map((r) => r.name)])].filter(
    Boolean,
  ) as string[];
  const votes = gate.votes ?? [];
  const assignees = gate.assignees ?? [];
  const right = rightOf(gate);
  return (
    <p className={css.about}>
      <span>
        asked by{" "}
        <strong>
          <Said>{names.join(", ") || "the program"}</Said>
        </strong>{" "}
        <Ago at={gate.createdAt} />
      </span>
      {!settled && right && (
        <span>
          <Said>{right}</Said>
        </span>
      )}
      {!settled && assignees.length > 0 && (
        <span>
          asked of <Said>{assignees.join(", ")}</Said>
        </span>
      )}
      {gate.quorum ? (
        <span>
          {votes.filter((v) => v.verdict === "approve").length} of {gate.quorum.need} approvals
          {votes.length > 0 && (
            <>
              :{" "}
              <Said>{votes.map((v) => `${v.by} ${v.verdict === "approve" ? "approves" : "rejects"}`).join(", ")}</Said>
            </>
          )}
        </span>
      ) : (
        !settled && <span>one decision is enough</span>
      )}
      {[licenseOf(gate), ...changesOf(gate)].filter(Boolean).map((said) => (
        <span key={said}>
          <Said>{said}</Said>
        </span>
      ))}
      {(gate.assignments ?? []).map((a) => (
        <span key={`${a.seq}`}>
          <Said>
            {a.escalation
              ? `since its escalation ${a.replace ? "only" : "also"} ${a.to.join(", ")}`
              : a.takesBack
                ? `${a.by} took it back`
                : `${a.by} handed it to ${a.to.join(", ")}`}
          </Said>
        </span>
      ))}
    </p>
  );
}

/** Rest shows what the question's text says after its first line, and why people are asked. */
export function Rest({ gate }: { gate: Gate }) {
  const rest = (gate.text ?? "").split("\n").slice(1).join("\n").trim();
  if (!rest && !gate.note) return null;
  return (
    <Card title="The rest of the question">
      {rest && (
        <p className={css.text}>
          <Said lines>{rest}</Said>
        </p>
      )}
      {gate.note && (
        <Note icon={<TriangleAlert size={14} strokeWidth={1.5} aria-hidden />}>
          <Said lines>{gate.note}</Said>
        </Note>
      )}
    </Card>
  );
}
