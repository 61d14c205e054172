package engine

import (
	"cmp"
	"context"
	"errors"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
)

// Release releases a thread that the program runs; see [Owns] and
// [ledger.Ledger.Release]. It returns what the version ended in, too. With an
// error the version stands if it is not nil.
func Release(ctx context.Context, l *ledger.Ledger, kind, name, thread string, o *ledger.ReleaseOptions) (*posthouse.Release, *posthouse.Checkpoint, error) {
	thread = cmp.Or(thread, posthouse.DefaultThread)
	info, err := l.Thread(ctx, thread)
	if err != nil {
		return nil, nil, err
	}
	if err := Owns(kind, name, &posthouse.Header{Thread: thread, Graph: info.Graph}); err != nil {
		return nil, nil, err
	}
	r, failed := l.Release(ctx, thread, o)
	if r == nil {
		return nil, nil, failed
	}
	r, end, err := endOf(ctx, l, r)
	return r, end, errors.Join(failed, err)
}

// VersionOf returns a released version by its number in decimal or a tag, or the
// last if neither is given, with what it ended in. [posthouse.ErrNotFound].
func VersionOf(ctx context.Context, l *ledger.Ledger, thread, versionOrTag string) (r *posthouse.Release, end *posthouse.Checkpoint, err error) {
	thread = cmp.Or(thread, posthouse.DefaultThread)
	if versionOrTag == "" {
		r, err = ledger.LastRelease(ctx, l, thread)
	} else {
		r, err = ledger.FindRelease(ctx, l, thread, versionOrTag)
	}
	if err != nil {
		return nil, nil, err
	}
	return endOf(ctx, l, r)
}

// endOf returns the head of a version's main, or of the first branch there was.
func endOf(ctx context.Context, l *ledger.Ledger, r *posthouse.Release) (*posthouse.Release, *posthouse.Checkpoint, error) {
	h, ok := r.Head("")
	if !ok && len(r.Heads) > 0 {
		h = r.Heads[0]
	}
	c, err := l.Get(ctx, h.Head)
	return r, c, err
}

// Release closes the thread's current generation under the lease, which ends
// with it, and so does the session: see [ledger.Ledger.Release]. While another
// branch of the thread is not over it does nothing, and returns nil.
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
		s.ended, s.released = true, true
	}
	return r, err
}
