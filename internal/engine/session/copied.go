package session

import (
	"context"
	"errors"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
)

// Gate returns a gate that the program or its records name, as [ledger.Ledger.Gate] does. In a
// copy of a thread, or a fork in a thread of its own, they name gates of the original. If that
// was removed since, Gate returns the copy of the gate that this thread has: it has the
// decision, and licenses nothing. If there is no copy either, Gate fails with
// [posthouse.ErrNotFound].
func (s *Session) Gate(ctx context.Context, id posthouse.ID) (*posthouse.Gate, error) {
	g, err := findGate(ctx, s.ledger, s.thread, id)
	return g, s.Unanswered(err)
}

func findGate(ctx context.Context, l *ledger.Ledger, thread string, id posthouse.ID) (*posthouse.Gate, error) {
	g, err := l.Gate(ctx, id)
	if !errors.Is(err, posthouse.ErrNotFound) {
		return g, err
	}
	info, e := l.Thread(ctx, thread)
	if e != nil {
		return nil, e
	}
	for entry, e := range l.Log(ctx, thread, posthouse.Range{From: info.First, Headers: true}) {
		if e != nil {
			return nil, e
		}
		for i := range entry.Records {
			r := entry.Records[i].Gate
			if r == nil || !posthouse.AsksPeople(r.Kind) {
				continue
			}
			switch c, e := l.Gate(ctx, r.ID); {
			case errors.Is(e, posthouse.ErrNotFound): // removed, too
			case e != nil:
				return nil, e
			case c.Origin == id && c.Decision != nil:
				return c, nil
			}
		}
	}
	return nil, err
}
