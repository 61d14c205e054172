package step

import (
	"context"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
)

// Names of the steps that Now and NewID record.
const (
	stepNow = "now"
	stepID  = "id"
)

// Now returns the Ledger's time and records it: executed again, the program gets the same
// time. Code that depends on the clock calls it.
func Now(ctx context.Context) (time.Time, error) {
	return DoWith(ctx, stepNow, Options{Effect: posthouse.EffectRead}, func(ctx context.Context) (time.Time, error) {
		task, _ := engine.From(ctx)
		return task.Session().Ledger().Now().UTC(), nil
	})
}

// NewID returns a new unique id, a UUIDv7, and records it: executed again, the
// program gets the same.
func NewID(ctx context.Context) (posthouse.ID, error) {
	return DoWith(ctx, stepID, Options{}, func(ctx context.Context) (posthouse.ID, error) {
		task, _ := engine.From(ctx)
		return task.Session().Ledger().Core().NewID(), nil
	})
}
