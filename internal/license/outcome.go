package license

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/commit"
)

// KindOutcome is the kind of the question about an effect with an unknown outcome.
const KindOutcome = "outcome"

// Outcome is the question about an attempt that a gate licensed. The payload is its content, the
// schema that of its result: it is left out where the Ledger cannot check it.
func (r *Reader) Outcome(ctx context.Context, c *commit.Committer, effect string, under *posthouse.Gate, attempt int, payload, schema json.RawMessage) (q posthouse.Gate, err error) {
	q = posthouse.Gate{
		Name: KindOutcome, Kind: KindOutcome,
		Text: fmt.Sprintf("It is not known whether %s was done.\nIt was attempt %d, approved by %s in %s. Respond with its result if it was done, approve if it was not and is to be done now, reject to give it up.",
			effect, attempt, under.Decision.By, under.ID),
		Verdicts: []posthouse.Verdict{posthouse.Approve, posthouse.Reject, posthouse.Respond}, Payload: payload,
		RequestedBy: under.RequestedBy, Requesters: slices.Clone(under.Requesters), AllowRequest: under.AllowRequest, Assignees: slices.Clone(under.Assignees),
	}
	if attempt > 1 { // another question, not the same put otherwise
		q.Name += "-" + strconv.Itoa(attempt)
	}
	if len(schema) > 0 && c.Rules.MayOpen(&posthouse.Gate{Schema: schema}) == nil {
		q.Schema = schema
	}
	q.Escalation, err = r.escalation(ctx, under)
	return q, err
}

// AskOutcome asks people what became of an attempt. It returns the gate with their decision, and
// whether the effect happened: its result is then the decision's value. If they gave it up, the
// error is that of [Refused].
func AskOutcome(ctx context.Context, q Questions, outcome posthouse.Gate) (decided *posthouse.Gate, happened bool, err error) {
	decided, err = q.Ask(ctx, outcome)
	if err != nil {
		return nil, false, err
	}
	switch decided.Decision.Verdict {
	case posthouse.Respond:
		return decided, true, nil
	case posthouse.Approve:
		return decided, false, nil
	}
	return decided, false, Refused(decided)
}

// OutcomeUnknown reports whether an error leaves open if an effect happened.
func OutcomeUnknown(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, posthouse.ErrUnknown) || errors.Is(err, posthouse.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}
