package content_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

func memStore() posthouse.Store { return memstore.New() }

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A house is a store and the process that has it open.
type house struct {
	*testing.T
	store  posthouse.Store
	ledger *ledger.Ledger
	now    time.Time
	clock  func() time.Time // if set, says what now is
	policy posthouse.DecidePolicy
	grants bool // the ledger asks for them
}

// onStores runs a test over memory and over SQLite.
func onStores(t *testing.T, test func(h *house)) {
	for name, open := range map[string]func(*testing.T) posthouse.Store{
		"memory": func(*testing.T) posthouse.Store { return memstore.New() },
		"sqlite": func(t *testing.T) posthouse.Store {
			s, err := sqlitestore.Open(t.Context(), filepath.Join(t.TempDir(), "posthouse.db"), nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
			return s
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := &house{T: t, store: open(t), now: time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)}
			h.restart()
			test(h)
		})
	}
}

// restart opens the ledger again, as another process would.
func (h *house) restart() {
	h.Helper()
	l, err := ledger.Open(h.store, &ledger.Options{
		Now: h.time, Validate: gate.Validator(), Owner: "here", RequireGrants: h.grants,
		Policy: func(g *posthouse.Gate, d *posthouse.Decision) error {
			if h.policy != nil {
				return h.policy(g, d)
			}
			return nil
		},
	})
	if err != nil {
		h.Fatal(err)
	}
	h.ledger = l
}

func (h *house) time() time.Time {
	if h.clock != nil {
		return h.clock()
	}
	return h.now
}

// decide answers a gate by somebody.
func (h *house) decide(id posthouse.ID, v posthouse.Verdict, by string) *posthouse.Gate {
	h.Helper()
	if v == posthouse.Cancel {
		return must(h.ledger.Withdraw(h.Context(), id, ledger.Withdrawal{By: by, Operator: true}))(h)
	}
	return must(h.ledger.Decide(h.Context(), id, posthouse.Decision{Verdict: v, By: by}))(h)
}

// yesTo returns the verdict by which what a gate asks about is done.
func yesTo(g *posthouse.Gate) posthouse.Verdict {
	if g.AsksOutcome() {
		return posthouse.Redo
	}
	return posthouse.Approve
}

// inbox returns what people are asked in a thread.
func (h *house) inbox(thread string) (gates []*posthouse.Gate) {
	h.Helper()
	for g, err := range h.ledger.Gates(context.Background(), ledger.GateQuery{Thread: thread}) {
		if err != nil {
			h.Fatal(err)
		}
		gates = append(gates, g)
	}
	return gates
}

// only returns the one question of a thread.
func (h *house) only(thread string) *posthouse.Gate {
	h.Helper()
	gates := h.inbox(thread)
	if len(gates) != 1 {
		h.Fatalf("thread %s asks %d questions", thread, len(gates))
	}
	return gates[0]
}

func must[T any](v T, err error) func(h *house) T {
	return func(h *house) T {
		h.Helper()
		if err != nil {
			h.Fatal(err)
		}
		return v
	}
}
