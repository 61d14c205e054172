package session

import (
	"context"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
)

// Release closes the thread's current generation under the lease: see
// [ledger.Ledger.Release]. The lease and the session end with it. While another branch of
// the thread is not over it does nothing and returns nil.
func (s *Session) Release(ctx context.Context, o *ledger.ReleaseOptions) (*posthouse.Release, error) {
	if err := s.Flush(); err != nil {
		return nil, err
	}
	info, err := s.ledger.Thread(ctx, s.thread)
	if err != nil {
		return nil, err
	}
	for _, b := range info.Branches {
		over := b.Status == posthouse.StatusDone || b.Status == posthouse.StatusCancelled || b.Status == posthouse.StatusSaved
		if b.Branch != s.branch && !over {
			return nil, nil
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	own := *o
	own.Claim = s.claim
	r, err := s.ledger.Release(context.WithoutCancel(ctx), s.thread, &own)
	if r != nil {
		s.state = released
	}
	return r, err
}
