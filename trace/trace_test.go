package trace_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/coord"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/base/traceid"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/store/sqlitestore"
	"github.com/posthouse/posthouse/trace"
)

// An order is what is refunded.
type order struct{ Number int }

// refund looks an order up, asks, and pays.
func refund(ctx context.Context) error {
	if _, err := step.Do(ctx, "look up", func(context.Context) (string, error) { return "order 1", nil }); err != nil {
		return err
	}
	a, err := gate.Ask[int](ctx, gate.Question{Name: "pay?"})
	if err != nil || !a.Approved() {
		return err
	}
	_, err = step.Do(ctx, "pay", func(context.Context) (int, error) { return 80, nil })
	return err
}

// A model runs refund over a Ledger: begins a thread of it, or goes on with one.
type model func(t *testing.T, l *ledger.Ledger) (begin, resume func(context.Context) error)

func models() map[string]model {
	return map[string]model{
		"graph": func(t *testing.T, l *ledger.Ledger) (begin, resume func(context.Context) error) {
			g := graph.New[order]("refunds")
			g.Node("refund", func(ctx context.Context, _ *order) error { return refund(ctx) })
			g.Edge(graph.Start, "refund")
			g.Edge("refund", graph.End)
			app, err := g.Compile(l, nil)
			must.Do(t, err)
			return func(ctx context.Context) error {
					_, err := app.Run(ctx, "t1", order{1}, graph.RunOptions{Withdraw: true})
					return err
				},
				func(ctx context.Context) error { _, err := app.Resume(ctx, "t1"); return err }
		},
		"flow": func(t *testing.T, l *ledger.Ledger) (begin, resume func(context.Context) error) {
			app, err := flow.New("refunds", func(ctx context.Context, _ int) (int, error) { return 0, refund(ctx) }).Open(l, nil)
			must.Do(t, err)
			return func(ctx context.Context) error { _, err := app.Run(ctx, "t1", 1); return err },
				func(ctx context.Context) error { _, err := app.Resume(ctx, "t1"); return err }
		},
		"coordinator": func(t *testing.T, l *ledger.Ledger) (begin, resume func(context.Context) error) {
			fleet, err := coord.NewFleet()
			must.Do(t, err)
			c, err := coord.New(l, "refunds", fleet, func(ctx context.Context, _ string, _ *coord.Fleet, _ *coord.Session) error { return refund(ctx) }, nil)
			must.Do(t, err)
			return func(ctx context.Context) error {
					_, err := c.Handle(ctx, "please", &coord.HandleOptions{Thread: "t1"})
					return err
				},
				func(ctx context.Context) error { _, err := c.Resume(ctx, "t1", nil); return err }
		},
	}
}

// question returns the open question of the store.
func question(t *testing.T, l *ledger.Ledger) *posthouse.Gate {
	t.Helper()
	for g, err := range l.Gates(t.Context(), ledger.GateQuery{}) {
		must.Do(t, err)
		return g
	}
	t.Fatal("nothing is asked")
	return nil
}

func open(t *testing.T, s posthouse.Store, o *ledger.Options) *ledger.Ledger {
	t.Helper()
	l, err := ledger.Open(s, o)
	must.Do(t, err)
	t.Cleanup(func() { must.Do(t, l.Close()) })
	return l
}

// TestOneTraceOverARestart has all spans of a thread in the trace of its request, though another
// process goes on, and each step once, though its code is executed twice.
func TestOneTraceOverARestart(t *testing.T) {
	for name, m := range models() {
		t.Run(name, func(t *testing.T) {
			r := &recorder{}
			path := t.TempDir() + "/store.db"
			process := func(do func(l *ledger.Ledger)) {
				s, err := sqlitestore.Open(t.Context(), path, nil)
				must.Do(t, err)
				l, err := ledger.Open(s, &ledger.Options{Tracer: r, Validate: gate.Validator()})
				must.Do(t, err)
				do(l)
				must.Do(t, errors.Join(l.Close(), s.Close()))
			}
			caller, asked := r.request(t.Context())
			process(func(l *ledger.Ledger) {
				begin, _ := m(t, l)
				must.Do(t, begin(caller))
			})
			process(func(l *ledger.Ledger) {
				g := question(t, l)
				decider, _ := r.request(t.Context())
				_, err := l.Decide(decider, g.ID, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"})
				must.Do(t, err)
				_, resume := m(t, l)
				must.Do(t, resume(t.Context()))
			})
			want := []string{"request POST", "run refunds waiting", "step look up", "request POST", "gate pay?", "run refunds done", "step pay"}
			if name == "graph" {
				want = slices.Insert(want, 2, "node refund waits")
				want = slices.Insert(want, 7, "node refund again")
			}
			if got := r.lines(t); !slices.Equal(got, want) {
				t.Fatalf("the spans are %q, want %q", got, want)
			}
			runs := r.find(trace.KindRun, "refunds")
			for i, s := range runs {
				if s.parent != asked.own || s.Thread != "t1" {
					t.Errorf("run %d is below %v of trace %v, want %v", i, s.parent, s.own.TraceID(), asked.own)
				}
			}
			pay := r.find(trace.KindStep, "pay")[0]
			if pay.own.Trace != asked.own.Trace || name != "graph" && pay.parent != runs[1].own || pay.Attempt != 1 || pay.Program != "refunds" {
				t.Errorf("the last step is %+v of trace %s, want %s", pay.Span, pay.own.TraceID(), asked.own.TraceID())
			}
			wait := r.find(trace.KindGate, "pay?")[0]
			if name != "coordinator" && (wait.parent != asked.own || wait.link == traceid.Context{}) {
				t.Errorf("the question's span is below %v with a link to %v, want %v", wait.parent, wait.link, asked.own)
			}
			if wait.Begin.IsZero() || !wait.end.At.Equal(wait.Gate.Decision.At) || wait.Gate.Decision.By != "alice" {
				t.Errorf("the question's span is %+v, and ends at %v", wait.Span, wait.end.At)
			}
		})
	}
}

// TestRunWithoutACaller begins a trace of its own, which is on record; the next input begins another.
func TestRunWithoutACaller(t *testing.T) {
	r := &recorder{}
	l := open(t, memstore.New(), &ledger.Options{Tracer: r, Validate: gate.Validator()})
	begin, resume := models()["graph"](t, l)
	must.Do(t, begin(t.Context()))
	_, err := l.Decide(t.Context(), question(t, l).ID, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"})
	must.Do(t, err)
	must.Do(t, resume(t.Context()))
	must.Do(t, begin(t.Context()))
	runs := r.find(trace.KindRun, "refunds")
	if len(runs) != 3 || runs[0].parent != (traceid.Context{}) || runs[1].parent != runs[0].own || runs[2].own.Trace == runs[0].own.Trace {
		t.Errorf("the runs are %+v", runs)
	}
}

// TestTraceIsOnRecordOnlyWhereSomebodyTraces leaves entries as they are for everybody else, and
// takes the trace away with the next input.
func TestTraceIsOnRecordOnlyWhereSomebodyTraces(t *testing.T) {
	s := memstore.New()
	recorded := func(o *ledger.Options) bool {
		l := open(t, s, o)
		begin, _ := models()["graph"](t, l)
		must.Do(t, begin(t.Context()))
		info, err := l.Thread(t.Context(), "t1")
		must.Do(t, err)
		b, _ := info.Branch(posthouse.MainBranch)
		c, err := l.Get(t.Context(), b.Head)
		must.Do(t, err)
		_, ok := c.Program[posthouse.TracePart]
		return ok
	}
	if recorded(&ledger.Options{Validate: gate.Validator()}) {
		t.Error("a trace is on record, and nobody traces")
	}
	if !recorded(&ledger.Options{Tracer: &recorder{}, Validate: gate.Validator()}) {
		t.Error("no trace is on record")
	}
	if recorded(&ledger.Options{Validate: gate.Validator()}) {
		t.Error("the trace of an earlier input is on record still")
	}
}

// TestSpansOfWhatFails end with the error; each attempt has its own, and a panic ends one, too.
func TestSpansOfWhatFails(t *testing.T) {
	r := &recorder{}
	l := open(t, memstore.New(), &ledger.Options{Tracer: r, Validate: gate.Validator()})
	g := graph.New[order]("refunds")
	n := 0
	g.Node("refund", func(ctx context.Context, _ *order) error {
		_, err := step.DoWith(ctx, "pay", step.Options{Retry: posthouse.RetryPolicy{MaxAttempts: 2}}, func(context.Context) (int, error) {
			n++
			if n == 2 {
				panic("no bank")
			}
			return 0, errors.New("no bank")
		})
		return err
	})
	g.Edge(graph.Start, "refund")
	g.Edge("refund", graph.End)
	app, err := g.Compile(l, nil)
	must.Do(t, err)
	if _, err := app.Run(t.Context(), "t1", order{1}); err == nil {
		t.Error("the run succeeds")
	}
	want := []string{"run refunds fails failed", "node refund fails", "step pay fails", "step pay fails"}
	if got := r.lines(t); !slices.Equal(got, want) {
		t.Errorf("the spans are %q, want %q", got, want)
	}
	for i, s := range r.find(trace.KindStep, "pay") {
		if s.Attempt != i+1 {
			t.Errorf("attempt %d says %d", i+1, s.Attempt)
		}
	}
}
