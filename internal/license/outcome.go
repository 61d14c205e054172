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
const KindOutcome = posthouse.GateOutcome

// Outcome is the question about an attempt that a gate licensed. The payload is its content, the
// schema that of its result: it is left out where the Ledger cannot check it. If people were asked
// as earlier versions did, it is that question.
func (r *Reader) Outcome(ctx context.Context, c *commit.Committer, asked Questions, effect string, under *posthouse.Gate, attempt int, payload, schema json.RawMessage) (q posthouse.Gate, err error) {
	text := fmt.Sprintf("It is not known whether %s was done.\nIt was attempt %d, approved by %s in %s. ", effect, attempt, under.Decision.By, under.ID)
	q = posthouse.Gate{
		Name: KindOutcome, Kind: KindOutcome, Text: text + answers,
		Verdicts: posthouse.SettleVerdicts(), Payload: payload, Attempt: &posthouse.Attempt{Effect: effect, Number: attempt, Under: under.ID},
		RequestedBy: under.RequestedBy, Requesters: slices.Clone(under.Requesters), AllowRequest: under.AllowRequest, Assignees: slices.Clone(under.Assignees), Quorum: under.Quorum,
		Record: posthouse.GateRecord{Settles: true},
	}
	if attempt > 1 { // another question, not the same put otherwise
		q.Name += "-" + strconv.Itoa(attempt)
	}
	if len(schema) > 0 && c.Rules.MayOpen(&posthouse.Gate{Schema: schema}) == nil {
		q.Schema = schema
	}
	q.Escalation, err = r.escalation(ctx, under)
	if err != nil {
		return q, err
	}
	former := q
	former.Text, former.Verdicts, former.Attempt, former.Record = text+formerAnswers, formerVerdicts(), nil, posthouse.GateRecord{}
	former.Quorum = nil
	if _, before := asked.Asked(ctx, former); before {
		return former, nil
	}
	return q, nil
}

// How the question ends, and ended before entry format 6.
const (
	answers       = "Answer happened, with its result, if it was done; redo only if it was not and is to be done now; give-up to leave it permanently."
	formerAnswers = "Respond with its result if it was done, approve if it was not and is to be done now, reject to give it up."
)

func formerVerdicts() []posthouse.Verdict {
	return []posthouse.Verdict{posthouse.Approve, posthouse.Reject, posthouse.Respond}
}

// AskOutcome asks people about the outcome of an attempt. It returns the gate with their decision and
// what that says: [posthouse.Happened], and the effect's result is then the decision's value;
// [posthouse.Redo]; or anything else, and then the effect is given up: [Refused] is its error. Answers
// to questions of earlier versions are read in these words.
func AskOutcome(ctx context.Context, q Questions, outcome posthouse.Gate) (decided *posthouse.Gate, how posthouse.Verdict, err error) {
	decided, err = q.Ask(ctx, outcome)
	if err != nil {
		return nil, "", err
	}
	return decided, decided.Said(decided.Decision.Verdict), nil
}

// OutcomeUnknown reports whether an error leaves open if an effect happened.
func OutcomeUnknown(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, posthouse.ErrUnknown) || errors.Is(err, posthouse.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}
