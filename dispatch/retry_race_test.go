package dispatch_test

import (
	"context"
	"errors"
	"iter"
	"testing"
	"testing/synctest"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/store/memstore"
)

// interrupted is a store that calls then before the n-th call with a context that is marked.
type interrupted struct {
	posthouse.Store
	n    int
	then func()
}

// marked is the key of a context: calls with it are counted.
type marked struct{}

func (s *interrupted) count(ctx context.Context) {
	if ctx.Value(marked{}) == nil {
		return
	}
	if s.n--; s.n == 0 {
		s.then()
	}
}

// Read implements [posthouse.Store].
func (s *interrupted) Read(ctx context.Context, thread string, r posthouse.Range) iter.Seq2[*posthouse.Entry, error] {
	s.count(ctx)
	return s.Store.Read(ctx, thread, r)
}

// Threads implements [posthouse.Store].
func (s *interrupted) Threads(ctx context.Context, q posthouse.ThreadQuery) iter.Seq2[*posthouse.ThreadInfo, error] {
	s.count(ctx)
	return s.Store.Threads(ctx, q)
}

// Find implements [posthouse.Store].
func (s *interrupted) Find(ctx context.Context, id posthouse.ID) (posthouse.Ref, error) {
	s.count(ctx)
	return s.Store.Find(ctx, id)
}

// Append implements [posthouse.Store].
func (s *interrupted) Append(ctx context.Context, b *posthouse.Batch) error {
	s.count(ctx)
	return s.Store.Append(ctx, b)
}

// TestRetriesThatRace: whatever a retry has read when another one of the same task comes
// first, the task opens once.
func TestRetriesThatRace(t *testing.T) {
	for n := 1; ; n++ {
		reached := false
		synctest.Test(t, func(t *testing.T) {
			store := memstore.New()
			late := &interrupted{Store: store}
			a, b := newHost(t, store, runs.RemoteOptions{}), newHost(t, late, runs.RemoteOptions{})
			c := a.fail("t", a.connect("w1"))
			late.n, late.then = n, func() {
				reached = true
				if _, err := a.d.Retry(t.Context(), c.ID.Gate, "alice"); err != nil {
					t.Errorf("before call %d: %v", n, err)
				}
			}
			_, err := b.d.Retry(context.WithValue(t.Context(), marked{}, true), c.ID.Gate, "bob")
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
