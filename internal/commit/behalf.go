package commit

import (
	"cmp"
	"context"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/core"
)

// Behalf is the context's key for the execution that acts with it, an [Actor].
type Behalf struct{}

// An Actor is an execution of a program, which changes threads on behalf of others.
type Actor interface {
	// Requesters returns all requesters of the execution.
	Requesters(ctx context.Context) ([]posthouse.Requester, error)

	// Sender returns the requester of its questions, "" if unknown.
	Sender(ctx context.Context) string

	// Acts reports whether a claim is the execution's own: then a change is its own work.
	Acts(claim *core.Claim) bool
}

// SentBy names the sender in a signal that a program sends with ctx, unless the signal has one,
// and all requesters of the program.
func SentBy(ctx context.Context, s *posthouse.Signal) error {
	s.Requesters = nil
	a, ok := ctx.Value(Behalf{}).(Actor)
	if !ok {
		return nil
	}
	s.By = cmp.Or(s.By, a.Sender(ctx))
	list, err := a.Requesters(ctx)
	for i := range list {
		if name := list[i].Name; name != s.By && !slices.Contains(s.Requesters, name) {
			s.Requesters = append(s.Requesters, name)
		}
	}
	return err
}

// nameBehalf names in the plan all people for whom a program changes a thread that is not its
// own. It takes no lock of a thread, and is called before there is one.
func (p *Plan) nameBehalf(ctx context.Context) (err error) {
	if p.Checkpoint == nil || p.Copy {
		return nil
	}
	switch p.Checkpoint.Kind {
	case "", posthouse.KindSave, posthouse.KindInput, posthouse.KindUpdate, posthouse.KindFork:
		a, ok := ctx.Value(Behalf{}).(Actor)
		if ok && (p.Claim == nil || !a.Acts(p.Claim)) {
			p.behalf, err = a.Requesters(ctx)
		}
	}
	return err
}

// OnBehalf returns a context with which a worker's engine acts on behalf of all on a list.
func OnBehalf(ctx context.Context, list []posthouse.Requester) context.Context {
	return context.WithValue(ctx, Behalf{}, Actor(onBehalf(list)))
}

// onBehalf is an [Actor] that runs nothing itself.
type onBehalf []posthouse.Requester

func (r onBehalf) Requesters(context.Context) ([]posthouse.Requester, error) { return r, nil }

func (onBehalf) Sender(context.Context) string { return "" }

func (onBehalf) Acts(*core.Claim) bool { return false }
