package session

import (
	"context"
	"fmt"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/requesters"
	"github.com/posthouse/posthouse/internal/senders"
	"github.com/posthouse/posthouse/internal/threadlog"
	"github.com/posthouse/posthouse/ledger"
)

// A Record is what is on record for the step that follows the session's head.
type Record struct{ s *Session }

// Record returns what is on record for the step that follows the head.
func (s *Session) Record() Record { return Record{s} }

// Execution returns what a task has on record since the head's step began, nil for nothing.
// It reads the log at most once a step, and not after a checkpoint of this session. The caller
// must not change it.
func (r Record) Execution(ctx context.Context, key fmt.Stringer) (*threadlog.Execution, error) {
	s := r.s
	if s.step.empty.Load() {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := r.read(ctx); err != nil {
		return nil, err
	}
	return s.step.executions[key.String()], nil
}

// ReadExecutions reads what is on record since the head's step began, with what others have
// recorded in the meantime.
func (r Record) ReadExecutions(ctx context.Context) (map[string]*threadlog.Execution, error) {
	s := r.s
	s.mu.Lock()
	head := s.Head()
	s.mu.Unlock()
	known, err := s.ledger.Core().Executions(ctx, head)
	return known, s.Unanswered(err)
}

// DecidedAfter returns the questions to people on the branch that somebody answered after an
// entry.
func (r Record) DecidedAfter(ctx context.Context, seq uint64) ([]posthouse.ID, error) {
	s := r.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := r.read(ctx); err != nil {
		return nil, err
	}
	return s.step.decidedAfter(s.branch, seq), nil
}

// StepsAhead returns how many steps after the head have no checkpoint, but something on
// record. A run that a crash lost came that far.
func (r Record) StepsAhead(ctx context.Context) (int, error) {
	s := r.s
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.Head()
	if h == nil {
		return 0, nil
	}
	if err := r.read(ctx); err != nil {
		return 0, err
	}
	return s.step.stepsAfter(h.Step), nil
}

// read reads what is on record since the head's step began. Callers hold s.mu.
func (r Record) read(ctx context.Context) error {
	s := r.s
	if s.step.executions != nil {
		return nil
	}
	known, err := s.ledger.Core().Executions(ctx, s.Head())
	if err != nil {
		return s.Unanswered(err)
	}
	return s.step.set(known)
}

// Refresh drops what was read of the step's executions, since somebody else may have
// decided a gate.
func (r Record) Refresh() {
	s := r.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Head() != nil {
		s.step.forget()
	}
}

// NoteRequesters makes more people requesters of what the session's checkpoints hold. Whoever
// takes the step up has to do the same again, until there is a checkpoint.
func (r Record) NoteRequesters(list []posthouse.Requester) {
	s := r.s
	s.mu.Lock()
	defer s.mu.Unlock()
	s.step.senders = senders.Join(s.step.senders, list)
}

// Requesters returns all who made the request that the run serves.
func (r Record) Requesters(ctx context.Context) (list []posthouse.Requester, err error) {
	s := r.s
	if h := s.Head(); h != nil {
		c, err := ledger.GetOf(ctx, s.ledger, h)
		if err != nil {
			return nil, s.Unanswered(err)
		}
		list, err = requesters.Read(c.Program)
		if err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return senders.Join(list, s.step.senders), nil
}
