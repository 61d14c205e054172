// Package asked finds the gates that a checkpoint asks people by.
package asked

import (
	"context"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
)

// Of returns the gates of a checkpoint that ask people. If it has only gates of the runtime it returns
// those, which can be cancelled.
func Of(ctx context.Context, l *ledger.Ledger, h *posthouse.Header) ([]*posthouse.Gate, error) {
	var people, runtime []*posthouse.Gate
	for _, id := range h.Gates {
		g, err := l.Gate(ctx, id)
		switch {
		case err != nil:
			return nil, err
		case g.AsksPeople():
			people = append(people, g)
		default:
			runtime = append(runtime, g)
		}
	}
	if len(people) == 0 {
		return runtime, nil
	}
	return people, nil
}

// Open returns the gates opened with a checkpoint that people can still decide.
func Open(ctx context.Context, l *ledger.Ledger, h *posthouse.Header) ([]*posthouse.Gate, error) {
	all, err := Of(ctx, l, h)
	return slices.DeleteFunc(Undecided(all), func(g *posthouse.Gate) bool { return !g.AsksPeople() }), err
}

// Undecided returns those of some gates that have no decision.
func Undecided(gates []*posthouse.Gate) (open []*posthouse.Gate) {
	for _, g := range gates {
		if g.Decision == nil {
			open = append(open, g)
		}
	}
	return open
}

// IDs returns the ids of some gates.
func IDs(gs []*posthouse.Gate) (ids []posthouse.ID) {
	for _, g := range gs {
		ids = append(ids, g.ID)
	}
	return ids
}
