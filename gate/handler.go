package gate

import (
	"context"
	"reflect"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/deciders"
	"github.com/posthouse/posthouse/internal/effect"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/handler"
	"github.com/posthouse/posthouse/internal/jsontype"
	"github.com/posthouse/posthouse/internal/license"
)

// proposeInHandler is [ProposeFor] for a handler: the engine asks when the task is parked. An
// edit that the rules of the edited content judge otherwise is put there, too.
func proposeInHandler[T any](ctx context.Context, h handler.Scope, content T, question func(T) Question) (Grant, error) {
	var first, edited *posthouse.Gate // the first that was edited, and the last
	for range maxEdits {
		q, g, err := proposal(ctx, nil, content, question)
		if err != nil {
			return "", err
		}
		if q.Auto != nil {
			return "", noAuto(&q)
		}
		before := posthouse.ID("")
		if edited != nil {
			same := g
			same.RequestedBy, same.AllowRequest = edited.RequestedBy, edited.AllowRequest
			if e := g.Escalation; e != nil { // from when the first was asked; the engine counts from when the last was
				since := *e
				since.At = first.CreatedAt.Add(q.Escalate.After)
				same.Escalation = &since
				g.Escalation.At = handler.Epoch.Add(since.At.Sub(edited.CreatedAt))
			}
			if _, ok := deciders.Right(&same, edited.Decision.By, edited.Decision.At); ok && license.SameRule(&same, edited) && !h.Replaced(edited.ID) {
				return Grant(edited.ID), nil
			}
			before = edited.ID
		}
		decided, err := h.Propose(g, before)
		if err != nil {
			return "", err
		}
		switch decided.Decision.Verdict {
		case posthouse.Approve:
			return Grant(decided.ID), nil
		case posthouse.Edit:
		default:
			return "", license.Refused(decided)
		}
		if first == nil {
			first = decided
		}
		read, err := licensed[T](decided)
		if err != nil { // asked again, and no edit of it
			edited = nil
			continue
		}
		content, edited = read, decided
	}
	return "", posthouse.Invalid("content", "was edited more than %d times", maxEdits)
}

// actInHandler is [Act] for a handler: the engine keeps the record of the effect.
func actInHandler[T, Out any](ctx context.Context, h handler.Scope, name string, grant Grant, fn func(context.Context, T) (Out, error), opt ActOptions[T, Out]) (Out, error) {
	var none Out
	if grant == "" {
		return none, posthouse.Invalid("grant", "of effect %.40q is empty: propose it first (gate.Propose)", name)
	}
	a := handler.Action{Use: handler.Use{Name: name, Grant: posthouse.ID(grant), Idempotent: opt.Idempotent}, Check: opt.Check}
	if schema, err := schemaOf(reflect.TypeFor[Out]()); err == nil {
		a.Schema = schema
	}
	fits := func(g *posthouse.Gate) (content T, err error) {
		content, err = licensed[T](g)
		if err == nil {
			err = expected(name, opt.Expect, g, content)
		}
		return content, err
	}
	a.Fits = func(g *posthouse.Gate) error { _, err := fits(g); return err }
	a.Run = func(ctx context.Context, g *posthouse.Gate) (posthouse.Value, error) {
		content, err := fits(g)
		if err != nil {
			return posthouse.Value{}, err
		}
		var out Out
		err = engine.Guard(func() (err error) {
			out, err = fn(context.WithValue(effect.Traced(ctx), keyGranted{}, g.Clone()), content)
			return err
		})
		if err != nil {
			return posthouse.Value{}, err
		}
		v, err := encodeResult(out)
		if err != nil { // it has happened
			err = &posthouse.Error{Code: posthouse.CodeUnknown, Message: "the result of effect " + name + " cannot be kept", Err: err}
		}
		return v, err
	}
	if opt.Reconcile != nil {
		a.Reconcile = func(ctx context.Context, under *posthouse.Gate) (v posthouse.Value, done bool, err error) {
			content, err := licensed[T](under)
			if err != nil {
				return v, false, err
			}
			var out Out
			err = engine.Guard(func() (err error) { out, done, err = opt.Reconcile(ctx, content); return err })
			if err != nil || !done {
				return v, false, err
			}
			v, err = encodeResult(out)
			return v, err == nil, err
		}
	}
	v, err := h.Act(ctx, a)
	if err != nil {
		return none, err
	}
	return jsontype.DecodeRecorded[Out]("the result of effect "+name, v)
}
