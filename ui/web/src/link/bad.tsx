import { Problem } from "../api/client";
import { wasHeard, type Outcome } from "../gate/decide";
import { Button } from "../parts/button";
import { Failure } from "../parts/notice";
import { Said } from "../parts/said";
import css from "./screen.module.css";

/** hasEnded says whether the server takes a link no more. */
export const hasEnded = (error: unknown) => error instanceof Problem && error.code === "unauthenticated";

type BadProps = {
  error: unknown;
  again: () => void;
  outcome: Outcome | undefined;
  reason: string;
};

/** Bad says why a link shows nothing, or nothing any more. */
export function Bad({ error, again, outcome, reason }: BadProps) {
  if (hasEnded(error)) {
    const sent = outcome?.step === "refused";
    return (
      <div className={css.bad} role="alert">
        <h1>This link is not good, or not any more</h1>
        <p>
          It ends with the deadline of its question or sooner, after a week at the latest, and when another one was sent
          to the same person.{" "}
          {sent && !wasHeard(outcome.error)
            ? "No answer came to what you sent: it is not known here whether it is on record. Ask whoever sent the link."
            : `Nothing was decided by ${sent ? "what you sent" : "opening it"}. Ask whoever sent it for another.`}
        </p>
        {reason && (
          <p>
            You had written: “<Said>{reason}</Said>”
          </p>
        )}
      </div>
    );
  }
  return (
    <>
      <Failure error={error} safe="Nothing was decided." />
      <p className={css.again}>
        <Button onClick={again}>Try again</Button>
      </p>
    </>
  );
}
