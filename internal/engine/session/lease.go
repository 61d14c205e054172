package session

import (
	"context"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/core"
)

// A Lease is the right of a session to run its thread: its claim, and how sure that is.
type Lease struct{ s *Session }

// Lease returns the session's right to run the thread.
func (s *Session) Lease() Lease { return Lease{s} }

// Generation returns which generation of the thread runs, from 1.
func (l Lease) Generation() uint32 { return l.s.claim.Generation() }

// Is reports whether a claim is the session's.
func (l Lease) Is(c *core.Claim) bool {
	return l.s.claim != nil && c.IsOf(l.s.Ledger().Core().Core, l.s.Thread(), l.s.Run())
}

// PreviousRunLost reports whether the run before this one did not come to its end. It may
// have acted further than is on record.
func (l Lease) PreviousRunLost() bool { return l.s.before.Held }

// Persist puts the claim on record before something acts, unless a commit has. It
// fails if somebody went on with the thread since the session began. A new branch needs no claim on record: no other
// process can run it.
func (l Lease) Persist(ctx context.Context) error {
	s := l.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.Err(); err != nil {
		return err
	}
	if s.Head() != nil && !s.persisted {
		wrote, err := s.claim.Persist(context.WithoutCancel(ctx))
		if err == nil && wrote {
			err = l.checkUnmoved(ctx)
		}
		s.persisted = err == nil
		if err != nil {
			s.markFailed(err)
			return err
		}
	}
	return l.confirmLocked(ctx) // the process may have been frozen while it wrote
}

// checkUnmoved fails if another claim came first, or the head has moved.
func (l Lease) checkUnmoved(ctx context.Context) error {
	s := l.s
	info, err := s.ledger.Thread(context.WithoutCancel(ctx), s.thread)
	if err != nil {
		return err
	}
	b, _ := info.Branch(s.branch)
	if h := s.Head(); b.Head == h.ID && b.Seq == h.Seq && info.Lease.Fence == s.before.Fence+1 {
		return nil
	}
	return &posthouse.Error{
		Code: posthouse.CodeConflict, Head: b.Head, Tail: &info.Tail,
		Message: "somebody went on with branch " + s.branch + " of thread " + s.thread + " before this run acted", Hint: "begin again from its head",
	}
}

// Confirm makes sure that the run still has its thread, before a node, a handler, an
// attempt of a step or an effect begins: if the process was away for longer than its
// lease, by a write or read that begins after it was back. Otherwise it does not ask. An
// error ends the session: another process has the thread by now, or the store does not say.
// The program has not failed then, whatever it makes of the error.
func (l Lease) Confirm(ctx context.Context) error {
	_, err := l.Begin(ctx)
	return err
}

// Begin is Confirm, and returns the time at which it was sure: when what begins now began.
func (l Lease) Begin(ctx context.Context) (time.Time, error) {
	s := l.s
	now := s.ledger.Now()
	if err := s.Err(); err != nil || s.claim == nil || s.claim.Sure(now) {
		return now, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.Err()
	if err == nil {
		err = l.confirmLocked(ctx)
	}
	return s.ledger.Now(), err
}

// confirmLocked is Confirm for callers that hold s.mu.
func (l Lease) confirmLocked(ctx context.Context) error {
	s := l.s
	if s.claim == nil {
		return nil
	}
	err := s.claim.Confirm(context.WithoutCancel(ctx))
	if err != nil {
		s.markFailed(err)
	}
	return err
}
