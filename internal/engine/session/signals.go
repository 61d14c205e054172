package session

import (
	"context"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/ledger"
)

// signalQueues are the next signals of a branch that were read, by name.
type signalQueues map[string][]*posthouse.Signal

// TakeSignal commits the steps that record makes of the next signal of a name. Unless it
// latches, the entry also says that the branch took the signal. It returns nil without a
// signal. No other task of the session comes between the lookup and the commit.
func (s *Session) TakeSignal(ctx context.Context, name string, latch bool, record func(*posthouse.Signal) ([]posthouse.Step, error)) (*posthouse.Signal, error) {
	if err := s.Flush(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Head() == nil {
		// Nothing is on record here, unless the thread began with a signal.
		if found := s.claim.Found(); found == nil {
			return nil, nil
		}
	}
	queue := s.signals[name]
	if len(queue) == 0 || latch {
		var err error
		queue, err = commit.Pending(ctx, s.ledger.Core(), s.thread, s.branch, name, latch)
		if err != nil || len(queue) == 0 {
			return nil, s.Unanswered(err)
		}
	}
	next := queue[0]
	steps, err := record(next)
	if err != nil {
		return nil, err
	}
	s.step.noteSender(name, append(slices.Clip(next.Requesters), next.By)...)
	d := &ledger.Draft{Steps: steps}
	if !latch {
		d.ConsumedSignals = []posthouse.Take{{Name: name, Signal: next.Seq}}
	}
	if _, err := s.commitLocked(ctx, d); err != nil {
		return nil, err
	}
	if !latch {
		if s.signals == nil {
			s.signals = signalQueues{}
		}
		s.signals[name] = queue[1:]
	}
	return next, nil
}

// forgetAnswered drops the pending signals of names that answered gates in the entry that
// opened them.
func (q signalQueues) forgetAnswered(gates []posthouse.Gate) {
	for i := range gates {
		if gates[i].Decision != nil {
			delete(q, gates[i].Signal)
		}
	}
}
