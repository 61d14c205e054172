package commit

import (
	"context"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/core"
)

// Behalf is the context's key for the execution that acts with it, an [Actor].
type Behalf struct{}

// An Actor is an execution of a program, which changes threads on behalf of others.
type Actor interface {
	// Requesters returns all whose request the execution runs.
	Requesters(ctx context.Context) ([]posthouse.Requester, error)

	// Sender returns whose request its questions are, "" if nobody said.
	Sender(ctx context.Context) string

	// Acts reports whether a claim is the execution's own: then a change is its own work.
	Acts(claim *core.Claim) bool
}

// SenderOf returns on whose behalf a program sends with ctx, "" if nobody said or no program does.
func SenderOf(ctx context.Context) string {
	if a, ok := ctx.Value(Behalf{}).(Actor); ok {
		return a.Sender(ctx)
	}
	return ""
}

// nameBehalf names in the plan all on whose behalf a program changes a thread that is not its
// own. It takes no lock of a thread, and is called before there is one.
func (p *Plan) nameBehalf(ctx context.Context) (err error) {
	a, ok := ctx.Value(Behalf{}).(Actor)
	if !ok || p.Checkpoint == nil || p.Copy || p.Claim != nil && a.Acts(p.Claim) {
		return nil
	}
	switch p.Checkpoint.Kind {
	case "", posthouse.KindSave, posthouse.KindInput, posthouse.KindUpdate, posthouse.KindFork:
		p.behalf, err = a.Requesters(ctx)
	}
	return err
}
