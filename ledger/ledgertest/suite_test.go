package ledgertest

import (
	"bytes"
	"context"
	"iter"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/crypt"
	"github.com/posthouse/posthouse/ledger/ledgertest/internal/desk"
	"github.com/posthouse/posthouse/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var overModel = storetest.Harness{Open: func(storetest.TB, string) posthouse.Store { return storetest.NewModel() }}

// TestModelKeepsTheRules runs the suite over the plainest store there is.
func TestModelKeepsTheRules(t *testing.T) { Run(t, overModel, nil) }

// TestModelKeepsTheRulesSealed runs the theme ledger again with all bodies sealed.
func TestModelKeepsTheRulesSealed(t *testing.T) {
	keys, err := crypt.NewKeyring(map[string][]byte{"k1": bytes.Repeat([]byte("k"), 32)}, "k1")
	if err != nil {
		t.Fatal(err)
	}
	h := overModel
	h.Only = "ledger/"
	Run(t, h, &Options{Cipher: keys})
}

// A mutant is the model with one fault, which a case of the suite must catch.
type mutant struct {
	fault  string
	caught string // by this case
	store  func(m storetest.Model) posthouse.Store
}

var mutants = []mutant{
	{"takes a lost answer's entry twice", "faults/lose the answer, at each call in turn", func(m storetest.Model) posthouse.Store {
		return appendMutant{m, func(b *posthouse.Batch) error {
			for info, err := range m.Threads(context.Background(), posthouse.ThreadQuery{Thread: b.Entry.Thread}) {
				if err == nil && info.Tail == b.Thread.Tail {
					return posthouse.ErrConflict
				}
			}
			return m.Append(context.Background(), b)
		}}
	}},
	{"lets two decide", "ledger/racing deciders: one winner", func(m storetest.Model) posthouse.Store {
		return appendMutant{m, func(b *posthouse.Batch) error {
			if err := m.Append(context.Background(), b); !desk.IsCode(err, posthouse.CodeConflict) {
				return err
			}
			return nil
		}}
	}},
	{"lists in one order only", "ledger/checkpoints of one millisecond keep their order", func(m storetest.Model) posthouse.Store {
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
			cases := Cases(nil)
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
