package dispatch_test

import (
	"context"
	"errors"
	"iter"
	"testing"
	"testing/synctest"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/memstore"
)

// interrupted is a store that calls then before the call at which left is down to 0.
type interrupted struct {
	posthouse.Store
	left int
	then func()
}

func (s *interrupted) count() {
	if s.left--; s.left == 0 {
		s.then()
	}
}

// Read implements [posthouse.Store].
func (s *interrupted) Read(ctx context.Context, thread string, r posthouse.Range) iter.Seq2[*posthouse.Entry, error] {
	s.count()
	return s.Store.Read(ctx, thread, r)
}

// Threads implements [posthouse.Store].
func (s *interrupted) Threads(ctx context.Context, q posthouse.ThreadQuery) iter.Seq2[*posthouse.ThreadInfo, error] {
	s.count()
	return s.Store.Threads(ctx, q)
}

// Find implements [posthouse.Store].
func (s *interrupted) Find(ctx context.Context, id posthouse.ID) (posthouse.Ref, error) {
	s.count()
	return s.Store.Find(ctx, id)
}

// Append implements [posthouse.Store].
func (s *interrupted) Append(ctx context.Context, b *posthouse.Batch) error {
	s.count()
	return s.Store.Append(ctx, b)
}

// TestRetryBesideAnother: whatever a retry has read when another one of the same task comes
// first, the task opens once.
func TestRetryBesideAnother(t *testing.T) {
	for n := 1; ; n++ {
		reached := false
		synctest.Test(t, func(t *testing.T) {
			store := memstore.New()
			late := &interrupted{Store: store}
			a, b := newHost(t, store, step.RemoteOptions{}), newHost(t, late, step.RemoteOptions{})
			c := a.fail("t", a.connect("w1"))
			late.left, late.then = n, func() {
				reached = true
				if _, err := a.d.Retry(t.Context(), c.ID.Gate, "alice"); err != nil {
					t.Errorf("before call %d: %v", n, err)
				}
			}
			_, err := b.d.Retry(t.Context(), c.ID.Gate, "bob")
			if reached && !errors.Is(err, posthouse.ErrConflict) {
				t.Errorf("before call %d: %v", n, err)
			}
			info, err := a.l.Thread(t.Context(), "t")
			if err != nil || len(info.Branches) != 1 || len(a.open("t")) != 1 {
				t.Errorf("before call %d: %+v, %v", n, info, err)
			}
		})
		if !reached {
			break
		}
	}
}
