package engine

import (
	"context"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/core"
)

// RequestersOf returns all who made the request that the program of ctx serves. Outside of a
// program the list is empty.
func RequestersOf(ctx context.Context) ([]posthouse.Requester, error) {
	t, ok := From(ctx)
	if !ok {
		return nil, nil
	}
	return t.session.Record().Requesters(ctx)
}

// Requesters returns all who made the request of the execution: those of its branch, and who sent
// the signals that the step has taken. It is [commit.Actor]'s.
func (c *taskContext) Requesters(ctx context.Context) ([]posthouse.Requester, error) {
	return c.session.Record().Requesters(ctx)
}

// Sender returns who asks its questions, as [Sender] does.
func (c *taskContext) Sender(ctx context.Context) string { return Sender(ctx) }

// Acts reports whether a claim is that of the execution's run.
func (c *taskContext) Acts(claim *core.Claim) bool { return c.session.Lease().Is(claim) }
