package engine

import (
	"context"
	"errors"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
)

// Cancelled returns a channel that is closed when somebody asks to cancel the branch. The
// next Commit notices a request of another process and fails with
// [posthouse.ErrCancelled]. The model then stops what it runs and calls
// [Session.FinishCancelled].
func (s *Session) Cancelled() <-chan struct{} { return s.claim.Cancelled(s.branch) }

// Asked reports whether somebody asked to cancel the branch.
func (s *Session) Asked() bool {
	return Closed(s.Cancelled()) || errors.Is(s.Err(), posthouse.ErrCancelled)
}

// FinishCancelled commits the branch's last checkpoint, of status cancelled, and ends the
// session. It returns the head, which is another checkpoint if the branch had ended
// before. If nothing is on record it writes nothing and returns nil. It ignores
// cancellation of ctx.
func (s *Session) FinishCancelled(ctx context.Context) (*posthouse.Header, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.Err(); err != nil && !errors.Is(err, posthouse.ErrCancelled) {
		return nil, err
	}
	if s.Head() == nil {
		return nil, nil
	}
	h, err := s.ledger.Cancel(context.WithoutCancel(ctx), s.thread, &ledger.CancelOptions{Branch: s.branch, Claim: s.claim})
	if err != nil {
		s.markFailed(err)
		return nil, err
	}
	s.head.Store(h)
	err = &posthouse.Error{
		Code: posthouse.CodeCancelled, Message: "the run of branch " + s.branch + " of thread " + s.thread + " was cancelled",
	}
	s.markFailed(err)
	return h, nil
}

// CancelLate ends the branch after the end of the session, for a request that came while
// its run parked. Nobody else would act on it. It returns the head, nil if nothing is on
// record. After a release it does nothing, since the request was not for what the
// thread's name is used for now.
func (s *Session) CancelLate(ctx context.Context) (*posthouse.Header, error) {
	s.mu.Lock()
	gone := s.released
	s.mu.Unlock()
	if gone {
		return nil, nil
	}
	h, err := s.ledger.Cancel(context.WithoutCancel(ctx), s.thread, &ledger.CancelOptions{Branch: s.branch})
	if errors.Is(err, posthouse.ErrNotFound) {
		return nil, nil
	}
	return h, err
}
