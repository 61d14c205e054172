package session

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
)

// A Cancellation is what somebody asks of a session: to end its branch.
type Cancellation struct{ s *Session }

// Cancellation returns what somebody asks of the session.
func (s *Session) Cancellation() Cancellation { return Cancellation{s} }

// Asked reports whether somebody asked to cancel the branch. The next Commit notices a request
// of another process and fails with [posthouse.ErrCancelled]. The model then stops what it runs
// and calls [Cancellation.Finish].
func (c Cancellation) Asked() bool {
	s := c.s
	return s.claim.IsCancelled(s.branch) || errors.Is(s.Err(), posthouse.ErrCancelled)
}

// Finish commits the branch's last checkpoint, of status cancelled, and ends the
// session. It returns the head, which is another checkpoint if the branch had ended
// before. If nothing is on record it writes nothing and returns nil. It ignores
// cancellation of ctx.
func (c Cancellation) Finish(ctx context.Context) (*posthouse.Header, error) {
	s := c.s
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

// FinishLate ends the branch after the end of the session, for a request that came while
// its run parked. No other run would act on it. It returns the head, nil if nothing is on
// record. After a release it does nothing, since the request was not for what the
// thread's name is used for now.
func (c Cancellation) FinishLate(ctx context.Context) (*posthouse.Header, error) {
	s := c.s
	s.mu.Lock()
	gone := s.state == released
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

// Watch looks at every renewal of a lease for a request of another process to cancel the branch,
// until stop is called. It serves a run that commits nothing while it waits for another thread; any
// other learns of a request by its next commit.
func (c Cancellation) Watch(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var looking sync.WaitGroup
	looking.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(c.s.ledger.Core().Config.RenewEvery()):
			}
			if c.askedElsewhere(ctx) {
				c.notify()
				return
			}
		}
	})
	return func() {
		cancel()
		looking.Wait()
	}
}

// askedElsewhere reports whether the store has a request to cancel the branch. A store that does
// not answer says nothing.
func (c Cancellation) askedElsewhere(ctx context.Context) bool {
	for info, err := range c.s.ledger.Store().Threads(ctx, posthouse.ThreadQuery{Thread: c.s.thread}) {
		return err == nil && info.CancelMark(c.s.branch) != nil
	}
	return false
}

// notify passes the request on to the run, as one of this process is.
func (c Cancellation) notify() {
	core := c.s.ledger.Core()
	t, err := core.Lock(c.s.thread)
	if err != nil {
		return // the Ledger is closed
	}
	defer core.Unlock(t)
	if t.Claim != nil {
		t.Claim.Cancel(c.s.branch)
	}
}

// errCancelled is the cause with which a cancelled run's context ends.
var errCancelled = &posthouse.Error{Code: posthouse.CodeCancelled, Message: "the run was cancelled"}

// Context returns a context that ends when the session's branch is cancelled, with
// [posthouse.ErrCancelled] as the cause. The function frees what the context holds.
func (c Cancellation) Context(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	unhook := c.s.claim.OnCancel(c.s.branch, func() { cancel(errCancelled) })
	return ctx, func() {
		unhook()
		cancel(nil)
	}
}

// IsCancelled reports whether ctx ended because somebody cancelled its run.
func IsCancelled(ctx context.Context) bool {
	return errors.Is(context.Cause(ctx), posthouse.ErrCancelled)
}
