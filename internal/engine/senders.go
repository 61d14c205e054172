package engine

import (
	"context"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/core"
	"github.com/posthouse/posthouse/internal/senders"
	"github.com/posthouse/posthouse/ledger"
)

// noteSender remembers that the step follows a signal of somebody. Callers hold s.mu.
func (s *Session) noteSender(signal string, by ...string) {
	s.senders = senders.Add(s.senders, signal, by...)
}

// findSenders notes who sent the signals that executions on record have taken. Callers hold
// s.mu.
func (s *Session) findSenders() error {
	found, err := senders.Of(s.executions)
	s.senders = senders.Join(s.senders, found)
	return err
}

// nameSenders makes the senders of signals that the step follows requesters of what a
// checkpoint of it holds. Callers hold s.mu.
func (s *Session) nameSenders(d *ledger.Draft) {
	if c := d.Checkpoint; c != nil && len(s.senders) > 0 {
		c.Requesters = append(slices.Clip(c.Requesters), s.senders...)
	}
}

// NoteRequesters makes more people requesters of what the session's checkpoints hold. Whoever
// takes the step up has to do the same again, until there is a checkpoint.
func NoteRequesters(s *Session, list []posthouse.Requester) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.senders = senders.Join(s.senders, list)
}

// RequestersOf returns all whose request the program runs that ctx is of, none outside of one.
func RequestersOf(ctx context.Context) ([]posthouse.Requester, error) {
	t, ok := ctx.Value(keyTask).(*Task)
	if !ok {
		return nil, nil
	}
	return t.Requesters(ctx)
}

// Requesters returns all whose request the execution runs: those of its branch, and who sent
// the signals that the step has taken. It is [commit.Actor]'s.
func (t *Task) Requesters(ctx context.Context) ([]posthouse.Requester, error) {
	return t.session.Requesters(ctx)
}

// Sender returns whose request its questions are, as [Sender] does.
func (t *Task) Sender(ctx context.Context) string { return Sender(ctx) }

// Acts reports whether a claim is that of the execution's run.
func (t *Task) Acts(claim *core.Claim) bool { return t.session.claim == claim }

// Requesters returns all whose request the run is.
func (s *Session) Requesters(ctx context.Context) (list []posthouse.Requester, err error) {
	if h := s.Head(); h != nil {
		c, err := ledger.GetOf(ctx, s.ledger, h)
		if err != nil {
			return nil, s.Unanswered(err)
		}
		if list, err = posthouse.ReadRequesters(c.Program); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return senders.Join(list, s.senders), nil
}
