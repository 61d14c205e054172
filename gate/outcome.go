package gate

import (
	"context"
	"encoding/json"
	"reflect"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/effect"
	"github.com/posthouse/posthouse/internal/license"
)

// KindOutcome is the kind of the question that [Act] asks about an effect with an
// unknown outcome.
const KindOutcome = posthouse.GateOutcome

// The outcomes of an attempt, once it is settled.
const (
	undone     = iota // it did not happen
	happened          // it did, with a result
	repeatable        // unknown, but doing it again with the same key and content is safe
)

// resolveOutcome finds out what became of the attempts on record: people, or the program, have
// said so, or are asked. Their content need not be that of g. Until that is known it returns
// [posthouse.ErrWaiting].
func (a *action[T, Out]) resolveOutcome(ctx context.Context, g *posthouse.Gate, state effect.State, u *effect.Use) (v posthouse.Value, how int, err error) {
	under, err := a.task.Session().Gate(ctx, a.use.Under())
	if err != nil {
		return v, undone, err
	}
	same := license.SameContent(under, g)
	asked, open := u.Question()
	switch {
	case open:
		return v, undone, a.task.Gates().Await(ctx, asked) // what is with people stays with them
	case state != effect.Unknown:
		v, err = a.answered(ctx, state, asked)
	case a.opt.Idempotent && same:
		return v, repeatable, nil
	case a.opt.Reconcile == nil:
		return v, undone, a.askPeople(ctx, nil, nil)
	default:
		v, err = a.reconcile(ctx, nil)
	}
	if err != nil {
		return v, undone, err
	}
	if v.Codec == "" { // nothing happened
		return v, undone, nil
	}
	if !same {
		a.other = under
	}
	a.use.Happened()
	return v, happened, nil
}

// answered returns the result that people gave, or the error of an effect that they gave up.
func (a *action[T, Out]) answered(ctx context.Context, state effect.State, asked posthouse.ID) (v posthouse.Value, err error) {
	decided, err := a.task.Session().Gate(ctx, asked)
	if err != nil {
		return v, err
	}
	if state == effect.GivenUp {
		return v, license.Refused(decided)
	}
	var out Out
	if err := json.Unmarshal(decided.Decision.Value, &out); err != nil {
		return v, unfit(decided, decided.Decision, err)
	}
	return posthouse.Encode(nil, out)
}

// askPeople puts on record that the newest attempt may have happened, with the error that its
// function returned, and asks people, who are told why. It returns [posthouse.ErrWaiting].
func (a *action[T, Out]) askPeople(ctx context.Context, cause, why error) error {
	ctx = context.WithoutCancel(ctx)
	u := a.use.Use()
	under, err := a.task.Session().Gate(ctx, a.use.Under())
	if err != nil {
		return err
	}
	q, err := a.outcome(ctx, under, u)
	if err != nil {
		return err
	}
	q.Note = license.OutcomeNote(u, why)
	if r := u.Reply(); r != nil {
		q.Attempt.Said = r.Output
	}
	a.use.Again()
	return a.use.AskOutcome(ctx, q, cause)
}

// outcome is the question about the attempts that a gate licensed.
func (a *action[T, Out]) outcome(ctx context.Context, under *posthouse.Gate, u *effect.Use) (q posthouse.Gate, err error) {
	content, err := licensed[T](under)
	if err != nil {
		return q, err
	}
	payload, err := posthouse.JSON.Marshal(content)
	if err != nil {
		return q, err
	}
	schema, err := schemaOf(reflect.TypeFor[Out]())
	if err != nil {
		schema = nil
	}
	return a.reader().Outcome(ctx, a.task.Session().Ledger().Core(), a.name, under, u.Attempts(), payload, schema)
}
