package ledger_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
)

// A bodyCounter counts entries that are read with their bodies.
type bodyCounter struct {
	*memstore.Store
	n int
}

func (s *bodyCounter) Read(ctx context.Context, thread string, r posthouse.Range) iter.Seq2[*posthouse.Entry, error] {
	return func(yield func(*posthouse.Entry, error) bool) {
		for e, err := range s.Store.Read(ctx, thread, r) {
			if !r.Headers {
				s.n++
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// TestForkReadsItsStateOnce forks a checkpoint with its state in many entries, with
// the state as it was and with one part changed.
func TestForkReadsItsStateOnce(t *testing.T) {
	ctx := t.Context()
	s := &bodyCounter{Store: memstore.New()}
	l := must.Get(ledger.Open(s, nil))(t)
	text := strings.Repeat("x", 5000)
	part := func(n int) posthouse.Value {
		return posthouse.Value{Codec: "json", Data: fmt.Appendf(nil, `"%s%0*d"`, text, n, 1)}
	}
	c := must.Get(l.Save(ctx, posthouse.Root("t", posthouse.State{"a": part(1), "b": part(1)}), nil))(t)
	for n := 2; n < 20; n++ {
		c = must.Get(l.Save(ctx, c.Derive(posthouse.State{"a": part(n), "b": part(1)}), nil))(t)
	}
	for what, o := range map[string]*ledger.ForkOptions{
		"unchanged": nil, "one part": {Patch: posthouse.State{"b": part(3)}},
	} {
		s.n = 0
		must.Get(must.Get(ledger.Open(s, nil))(t).Get(ctx, c.ID))(t)
		once := s.n
		s.n = 0
		f := must.Get(must.Get(ledger.Open(s, nil))(t).Fork(ctx, c.ID, o))(t)
		if s.n > once+4 {
			t.Errorf("%s: the fork read %d entries, the state takes %d", what, s.n, once)
		}
		back := must.Get(must.Get(ledger.Open(s, nil))(t).Get(ctx, f.ID))(t)
		if string(back.State["a"].Data) != string(f.State["a"].Data) || string(back.State["b"].Data) != string(f.State["b"].Data) {
			t.Errorf("%s: what was forked reads otherwise", what)
		}
	}
}
