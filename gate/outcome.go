package gate

import (
	"context"
	"encoding/json"
	"errors"
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

// errNoAnswer is why people are asked again: their answer does not count.
var errNoAnswer = errors.New("the answer before has no signature, so it does not count")

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
	case open && a.opt.Reconcile != nil && !a.opt.Idempotent:
		v, err = a.reconcileAsked(ctx, asked, u)
	case open:
		if err := a.task.Gates().Await(ctx, asked); err != nil { // what is with people stays with them
			return v, undone, err
		}
		return v, undone, a.askPeople(ctx, nil, errNoAnswer)
	case state != effect.Unknown:
		v, err = a.answered(ctx, state, asked)
	case a.opt.Idempotent && same:
		return v, repeatable, nil
	case a.opt.Reconcile == nil:
		return v, undone, a.askPeople(ctx, nil, a.mayBeDone)
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

// elsewhere returns the state of an effect that may have gone on in another store, or in what was lost
// when this one was put back to an earlier state: it is unknown then. One of which nothing has begun is
// put on record as begun, under the decision that let it be done there. An effect that happens once for
// its key may go on.
func (a *action[T, Out]) elsewhere(ctx context.Context, g *posthouse.Gate, state effect.State, u *effect.Use) (effect.State, *effect.Use, error) {
	s := a.task.Session()
	c := s.Ledger().Core()
	switch {
	case a.opt.Idempotent:
		return state, u, nil
	case state == effect.Waiting:
		moved, err := license.ContinuesElsewhere(ctx, c, s.Thread(), u)
		if moved {
			state = effect.Next(state, effect.Lost)
		}
		return state, u, s.Unanswered(err)
	case state != effect.Licensed && state != effect.NotDone:
		return state, u, nil
	}
	why, err := license.MayBeDone(ctx, c, g, s.Thread(), s.Branch(), u)
	if why == nil || err != nil {
		return state, u, s.Unanswered(err)
	}
	if err := a.use.Release(ctx, g); err != nil {
		return state, u, err
	}
	a.mayBeDone = why
	return effect.Next(effect.Begun, effect.Lost), a.use.Use(), nil
}

// answered returns the result that people gave, or the error of an effect that they gave up.
func (a *action[T, Out]) answered(ctx context.Context, state effect.State, asked posthouse.ID) (v posthouse.Value, err error) {
	decided, err := a.task.Session().Gate(ctx, asked)
	if err == nil {
		err = a.use.StopReconcile(ctx)
	}
	if err != nil {
		return v, err
	}
	if state == effect.GivenUp || decided.Decision.Verdict == posthouse.GiveUp {
		return v, license.Refused(decided)
	}
	var out Out
	if err := json.Unmarshal(decided.Decision.Value, &out); err != nil {
		return v, a.askResult(ctx, decided, err)
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

// askResult asks people again for the result of an effect that happened: what they gave does not fit
// the program. It returns [posthouse.ErrWaiting].
func (a *action[T, Out]) askResult(ctx context.Context, decided *posthouse.Gate, misfit error) error {
	under, err := a.task.Session().Gate(ctx, a.use.Under())
	if err != nil {
		return err
	}
	q, err := a.outcome(ctx, under, a.use.Use())
	if err != nil {
		return err
	}
	q.Verdicts = []posthouse.Verdict{posthouse.Happened, posthouse.GiveUp}
	q.Note = license.Clip("The result that " + decided.Decision.By + " gave in " + string(decided.ID) + " does not fit: " + misfit.Error())
	return a.use.AskOutcome(ctx, q, nil)
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
