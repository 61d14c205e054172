package engine

import (
	"context"

	"github.com/posthouse/posthouse/internal/engine/internal/replay"
	"github.com/posthouse/posthouse/internal/engine/stream"
)

// Emit passes on an emission, with the step it belongs to: see [stream.Send]. It counts as a
// heartbeat; an empty text does nothing else.
func Emit(ctx context.Context, em stream.Emission) {
	if t, ok := From(ctx); ok {
		t.Heartbeat()
	}
	if !em.Custom && em.Text == "" {
		return
	}
	if sc, ok := ctx.Value(keyScope).(*scope); ok {
		em.Step, em.Outer, em.Attempt = replay.CallName(sc.name, sc.occurrence), sc.outer, sc.attempt
	}
	stream.Send(ctx, em)
}
