package flow_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/memstore"
)

func TestMain(m *testing.M) {
	if child() {
		return
	}
	goleak.VerifyTestMain(m)
}

var errBoom = errors.New("boom")

// A world is a store, a clock, and how often each effect happened.
type world struct {
	testing.TB
	store posthouse.Store

	mu  sync.Mutex
	now time.Time
	did map[string]int
	log []string
}

func newWorld(tb testing.TB) *world {
	return &world{TB: tb, store: memstore.New(), now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), did: map[string]int{}}
}

func (w *world) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *world) advance(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

// ledger opens the store, as a process does that starts.
func (w *world) ledger() *ledger.Ledger {
	w.Helper()
	l, err := ledger.Open(w.store, &ledger.Options{Now: w.clock})
	if err != nil {
		w.Fatal(err)
	}
	return l
}

// do is a step with an effect.
func (w *world) do(ctx context.Context, name string) (string, error) {
	return step.Do(ctx, name, func(context.Context) (string, error) { return w.effect(name), nil })
}

func (w *world) effect(name string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.did[name]++
	w.log = append(w.log, name)
	return fmt.Sprintf("%s%d", name, w.did[name])
}

func (w *world) want(did string) {
	w.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if got := fmt.Sprint(w.log); got != did {
		w.Fatalf("did %s, want %s", got, did)
	}
}

func app[In, Out any](w *world, fn flow.Func[In, Out], o *flow.Options) *flow.App[In, Out] {
	w.Helper()
	if o == nil {
		o = &flow.Options{HoldFor: -1}
	}
	a, err := flow.New("order", fn).Open(w.ledger(), o)
	if err != nil {
		w.Fatal(err)
	}
	return a
}

func wantStatus[Out any](tb testing.TB, res *flow.Result[Out], err error, want posthouse.Status) *flow.Result[Out] {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
	if res.Status != want {
		tb.Fatalf("the status is %q, want %q: %+v", res.Status, want, res)
	}
	return res
}

// steps are the kinds and nodes of a history, oldest first.
func steps[In, Out any](tb testing.TB, a *flow.App[In, Out], thread string, o ...flow.HistoryOptions) string {
	tb.Helper()
	s := ""
	for c, err := range a.History(tb.Context(), thread, o...) {
		if err != nil {
			tb.Fatal(err)
		}
		one := c.Kind
		if c.Kind == posthouse.KindEvent {
			one = c.Node
		}
		s = one + " " + s
	}
	return s
}

func approve(tb testing.TB, l *ledger.Ledger, gate posthouse.ID) {
	tb.Helper()
	if _, err := l.Decide(tb.Context(), gate, posthouse.Decision{Verdict: posthouse.Approve, By: "approver"}); err != nil {
		tb.Fatal(err)
	}
}
