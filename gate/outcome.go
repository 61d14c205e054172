package gate

import (
	"context"
	"encoding/json"
	"reflect"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
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

// resolveOutcome finds out what became of an attempt with an unknown outcome. The
// attempt's content need not be that of g.
func (a *action[T, Out]) resolveOutcome(ctx context.Context, g *posthouse.Gate, attempt int) (v posthouse.Value, how int, err error) {
	under, err := a.task.Session().Gate(ctx, a.use.Under())
	if err != nil {
		return v, undone, err
	}
	q, err := a.outcome(ctx, under, attempt)
	if err != nil {
		return v, undone, err
	}
	same := license.SameContent(under, g)
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
func (a *action[T, Out]) outcome(ctx context.Context, under *posthouse.Gate, attempt int) (q posthouse.Gate, err error) {
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
	return a.reader().Outcome(ctx, a.task.Session().Ledger().Core(), a.task.Gates(), a.name, under, attempt, payload, schema)
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
	decided, how, err := license.AskOutcome(ctx, a.task.Gates(), q)
	switch {
	case err != nil:
		return out, false, err
	case how == posthouse.Redo:
		return out, false, nil
	case how != posthouse.Happened:
		return out, false, license.Refused(decided)
	}
	if err := json.Unmarshal(decided.Decision.Value, &out); err != nil {
		return out, false, unfit(decided, decided.Decision, err)
	}
	return out, true, nil
}
