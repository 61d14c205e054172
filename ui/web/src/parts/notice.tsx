import type { ReactNode } from "react";
import { Problem } from "../api/client";
import { Said } from "./said";
import css from "./notice.module.css";

/** Empty says what a place is for, and the command that fills it. */
export const Empty = ({ title, children, command }: { title: string; children: ReactNode; command?: string }) => (
  <div className={css.empty}>
    <h2>{title}</h2>
    <p>{children}</p>
    {command && <code className={css.command}>{command}</code>}
  </div>
);

/**
 * Failure says what happened, what is safe, what to do, and the code that the documentation explains. With
 * sent it is about something that a person sent: the page does not do that again by itself.
 */
export function Failure({ error, safe, sent = false }: { error: unknown; safe?: string; sent?: boolean }) {
  const body = error instanceof Problem ? error.body : { detail: String(error) };
  if (body.code === "unauthenticated") return <Ended safe={safe} />;
  return (
    <div className={css.failure} role="alert">
      <p>
        <strong>
          <Said>{sentence(body.detail)}</Said>
        </strong>{" "}
        {safe}
      </p>
      {body.hint && !(sent && body.code === "unavailable") && (
        <p>
          <Said>{sentence(body.hint)}</Said>
        </p>
      )}
      {body.code && (
        <p className={css.code}>
          code{" "}
          <a href={`/docs/errors#${encodeURIComponent(body.code)}`}>
            <code>{body.code}</code>
          </a>
          {body.instance && <> in the log as {body.instance.split(":").pop()}</>}
        </p>
      )}
    </div>
  );
}

/** Ended says that the session is over, and leads to a login that leaves this tab as it is. */
export const Ended = ({ safe }: { safe?: string }) => (
  <div className={css.failure} role="alert">
    <p>
      <strong>Your session has ended.</strong> {safe}
    </p>
    <p>
      <a href="/login" target="_blank">
        Log in again
      </a>{" "}
      in another tab, then go on here. What you typed is kept.
    </p>
  </div>
);

/** sentence gives a text a capital and a full stop. */
export function sentence(text: string): string {
  const trimmed = text.trim();
  return trimmed.charAt(0).toUpperCase() + trimmed.slice(1) + (/[.?!]$/.test(trimmed) ? "" : ".");
}

/** Skeleton holds the place of rows that come, in their size, so that nothing jumps. */
export const Skeleton = ({ rows, height }: { rows: number; height: number }) => (
  <div aria-hidden className={css.skeleton}>
    {Array.from({ length: rows }, (_, i) => (
      <div key={i} className={css.row} style={{ height }}>
        <i style={{ width: `${40 + ((i * 37) % 45)}%` }} />
        <i style={{ width: `${25 + ((i * 23) % 30)}%` }} />
      </div>
    ))}
  </div>
);
