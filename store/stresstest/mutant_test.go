package stresstest_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/storetest"
	"github.com/posthouse/posthouse/store/stresstest"
)

// A mutant is the model with one fault, which a case of the suite must catch.
type mutant struct {
	fault  string
	caught string // by this case
	store  func(m storetest.Model) posthouse.Store
}

var mutants = []mutant{
	{"fails the append behind a refused one", "race/a refusal is of one append", func(m storetest.Model) posthouse.Store {
		var mu sync.Mutex
		var refused error
		return appendMutant{m, func(b *posthouse.Batch) error {
			mu.Lock()
			defer mu.Unlock()
			if err := refused; err != nil {
				refused = nil
				return err
			}
			refused = m.Append(context.Background(), b)
			return refused
		}}
	}},
	{"compares and appends in two steps", "race/one winner at each position", func(m storetest.Model) posthouse.Store {
		return appendMutant{m, func(b *posthouse.Batch) error {
			if err := m.Append(context.Background(), b); !errors.Is(err, posthouse.ErrConflict) || b.After.Seq == 0 {
				return err
			}
			return nil
		}}
	}},
	{"loses what was acknowledged", "race/parallel threads lose nothing", func(m storetest.Model) posthouse.Store {
		return appendMutant{m, func(b *posthouse.Batch) error {
			if b.Entry.Seq == 100 {
				return nil
			}
			return m.Append(context.Background(), b)
		}}
	}},
	{"forgets to turn lists round", "machine/any history gives what the model gives", func(m storetest.Model) posthouse.Store {
		return listMutant{m}
	}},
}

type appendMutant struct {
	storetest.Model
	append func(*posthouse.Batch) error
}

func (s appendMutant) Append(_ context.Context, b *posthouse.Batch) error { return s.append(b) }

type listMutant struct{ storetest.Model }

func (s listMutant) List(ctx context.Context, q posthouse.Query) iter.Seq2[*posthouse.Header, error] {
	q.Descending = false
	return s.Model.List(ctx, q)
}

func TestTheSuiteCatchesEachMutant(t *testing.T) {
	for _, m := range mutants {
		t.Run(m.fault, func(t *testing.T) {
			t.Parallel()
			cases := stresstest.Cases()
			i := slices.IndexFunc(cases, func(c storetest.Case) bool { return c.Name == m.caught })
			if i < 0 {
				t.Fatalf("there is no case %q", m.caught)
			}
			h := storetest.Harness{Open: func(storetest.TB, string) posthouse.Store { return m.store(storetest.NewModel()) }}
			if !h.Fails(t, cases[i]) {
				t.Errorf("a store that %s passes %q", m.fault, m.caught)
			}
		})
	}
}
