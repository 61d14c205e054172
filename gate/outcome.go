package gate

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/engine"
)

// KindOutcome is the kind of the question that [Act] asks about an effect with an
// unknown outcome.
const KindOutcome = "outcome"

// The outcomes of an attempt, once it is settled.
const (
	undone     = iota // it did not happen
	happened          // it did, with a result
	repeatable        // unknown, but doing it again with the same key and content is safe
)

// resolveOutcome finds out what became of an attempt whose outcome is unknown. The
// attempt's content need not be that of g.
func (a *action[T, Out]) resolveOutcome(ctx context.Context, g *posthouse.Gate, attempt int) (v posthouse.Value, how int, err error) {
	under, err := a.task.Session().Gate(ctx, a.use.Under())
	if err != nil {
		return v, undone, err
	}
	q, err := a.outcome(under, attempt)
	if err != nil {
		return v, undone, err
	}
	same := sameContent(under, g)
	_, asked := a.task.Gates().Asked(ctx, q) // what is with people stays with them
	if a.opt.Idempotent && same && !asked {
		return v, repeatable, nil
	}
	out, done, err := a.reconcile(ctx, q, asked, under)
	switch {
	case err != nil:
		return v, undone, err
	case !done:
		return v, undone, a.use.Failed(ctx, nil)
	case !same:
		a.other = under
	}
	a.use.Happened()
	v, err = posthouse.Encode(nil, out)
	return v, happened, err
}

// outcome is the question about an attempt that a gate licensed.
func (a *action[T, Out]) outcome(under *posthouse.Gate, attempt int) (posthouse.Gate, error) {
	q := posthouse.Gate{
		Name: KindOutcome, Kind: KindOutcome,
		Text: fmt.Sprintf("It is not known whether %s was done (attempt %d, approved by %s in %s). Respond with its result if it was, approve if it was not and is to be done, reject to give it up.",
			a.name, attempt, under.Decision.By, under.ID),
		Verdicts:    []posthouse.Verdict{posthouse.Approve, posthouse.Reject, posthouse.Respond},
		RequestedBy: under.RequestedBy, Requesters: slices.Clone(under.Requesters), AllowRequest: under.AllowRequest, Assignees: slices.Clone(under.Assignees),
	}
	if attempt > 1 { // another question, not the same put otherwise
		q.Name += "-" + strconv.Itoa(attempt)
	}
	content, err := licensed[T](under)
	if err != nil {
		return q, err
	}
	if q.Payload, err = posthouse.JSON.Marshal(content); err != nil {
		return q, err
	}
	if schema, err := schemaOf(reflect.TypeFor[Out]()); err == nil && commit.MayOpen(a.task.Session().Ledger().Core(), &posthouse.Gate{Schema: schema}) == nil {
		q.Schema = schema
	}
	return q, nil
}

// reconcile asks the program what became of an attempt. It asks people if the
// program cannot say, or if they were asked before.
func (a *action[T, Out]) reconcile(ctx context.Context, q posthouse.Gate, asked bool, under *posthouse.Gate) (out Out, done bool, err error) {
	if a.opt.Reconcile != nil && !asked {
		content, err := licensed[T](under)
		if err != nil {
			return out, false, err
		}
		err = engine.Guard(func() error { out, done, err = a.opt.Reconcile(ctx, content); return err })
		return out, done, err
	}
	decided, err := a.task.Gates().Ask(ctx, q)
	if err != nil {
		return out, false, err
	}
	switch d := decided.Decision; d.Verdict {
	case posthouse.Respond:
		if err := json.Unmarshal(d.Value, &out); err != nil {
			return out, false, unfit(decided, d, err)
		}
		return out, true, nil
	case posthouse.Approve:
		return out, false, nil
	}
	return out, false, refused(decided)
}
