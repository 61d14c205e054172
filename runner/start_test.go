package runner_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/coord"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/overview"
	"github.com/posthouse/posthouse/runner"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/memstore"
)

// starters are a program of each model. Each counts in a step how often it ran.
func starters(t *testing.T, l *ledger.Ledger, ran *atomic.Int32) []posthouse.JSONStarter {
	t.Helper()
	work := func(ctx context.Context) error {
		_, err := step.Do(ctx, "work", func(context.Context) (int32, error) { return ran.Add(1), nil })
		return err
	}
	g := graph.New[struct{ X int }]("g")
	g.Node("a", func(ctx context.Context, _ *struct{ X int }) error { return work(ctx) })
	g.Edge(graph.Start, "a")
	g.Edge("a", graph.End)
	f := flow.New("f", func(ctx context.Context, _ string) (string, error) { return "", work(ctx) })
	handler := func(ctx context.Context, _ string, _ *coord.Fleet, s *coord.Session) error {
		s.Stream("answered")
		return work(ctx)
	}
	return []posthouse.JSONStarter{
		must.Get(g.Compile(l, nil))(t), must.Get(f.Open(l, nil))(t), must.Get(coord.New(l, "c", must.Get(coord.NewFleet())(t), handler, nil))(t),
	}
}

// inputOf is JSON that a program of starters takes.
func inputOf(p posthouse.Program) []byte {
	if p.Name() == "g" {
		return []byte(`{"X":1}`)
	}
	return []byte(`"x"`)
}

// TestStartAt begins runs that start in an hour, with each model: they are on record and wait, no
// call starts them before, and the runner starts them then, once.
func TestStartAt(t *testing.T) {
	for i := range 3 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := open(t, memstore.New(), "a")
				var ran atomic.Int32
				p := starters(t, l, &ran)[i]
				run(t, l, runner.Options{Programs: []posthouse.Program{p}})
				at := time.Now().Add(time.Hour)
				h := must.Get(p.StartJSON(t.Context(), "t", inputOf(p), &posthouse.StartOptions{By: "alice", StartAt: at}))(t)
				if h.Status != posthouse.StatusWaiting || len(h.Gates) != 1 {
					t.Fatalf("it is %s with gates %v", h.Status, h.Gates)
				}
				info := must.Get(l.Thread(t.Context(), "t"))(t)
				if len(info.Waiting) != 1 || info.Waiting[0].Kind != posthouse.GateTimer || !info.Waiting[0].ExpiresAt.Equal(at) || info.Graph != p.Name() {
					t.Errorf("its summary is %+v, want a timer until %v", info, at)
				}
				if face := must.Get(overview.Of(t.Context(), l, info))(t); face.Now != "starts at "+at.UTC().Format(time.RFC3339) {
					t.Errorf("now is %q", face.Now)
				}
				must.Do(t, p.Advance(t.Context(), "t", ""))
				sleep(time.Hour - time.Millisecond)
				must.Do(t, p.Advance(t.Context(), "t", ""))
				if s := status(t, l, "t"); s != posthouse.StatusWaiting || ran.Load() != 0 {
					t.Fatalf("before its time it is %s, and ran %d times", s, ran.Load())
				}
				sleep(2 * time.Second)
				if s := status(t, l, "t"); s != posthouse.StatusDone || ran.Load() != 1 {
					t.Fatalf("after its time it is %s, and ran %d times", s, ran.Load())
				}
				g := must.Get(l.Gate(t.Context(), h.Gates[0]))(t)
				if g.Decision == nil || g.Decision.Verdict != posthouse.Expire || g.Decision.At.Before(at) {
					t.Errorf("the wait ended with %+v", g.Decision)
				}
			})
		})
	}
}

// TestStartAtWithoutARunner: a call after the time starts a run that no runner has found, and puts
// on record that the wait is over.
func TestStartAtWithoutARunner(t *testing.T) {
	for i := range 3 {
		synctest.Test(t, func(t *testing.T) {
			l := open(t, memstore.New(), "a")
			var ran atomic.Int32
			p := starters(t, l, &ran)[i]
			h := must.Get(p.StartJSON(t.Context(), "t", inputOf(p), &posthouse.StartOptions{StartAt: time.Now().Add(time.Hour)}))(t)
			sleep(time.Hour)
			must.Do(t, p.Advance(t.Context(), "t", ""))
			must.Do(t, p.Advance(t.Context(), "t", ""))
			g := must.Get(l.Gate(t.Context(), h.Gates[0]))(t)
			if s := status(t, l, "t"); s != posthouse.StatusDone || ran.Load() != 1 || g.Decision == nil || g.Decision.Verdict != posthouse.Expire {
				t.Errorf("%s is %s, ran %d times, and its wait ended with %+v", p.Name(), s, ran.Load(), g.Decision)
			}
		})
	}
}

// TestStartAtIsCancelled ends a run before its start: by its thread, and by the wait alone.
func TestStartAtIsCancelled(t *testing.T) {
	for i := range 3 {
		for _, by := range []string{"thread", "wait"} {
			synctest.Test(t, func(t *testing.T) {
				l := open(t, memstore.New(), "a")
				var ran atomic.Int32
				p := starters(t, l, &ran)[i]
				run(t, l, runner.Options{Programs: []posthouse.Program{p}})
				h := must.Get(p.StartJSON(t.Context(), "t", inputOf(p), &posthouse.StartOptions{StartAt: time.Now().Add(time.Hour)}))(t)
				if by == "thread" {
					must.Get(l.Cancel(t.Context(), "t", &ledger.CancelOptions{By: "bob"}))(t)
				} else {
					must.Get(l.Withdraw(t.Context(), h.Gates[0], ledger.Withdrawal{By: "bob", Operator: true}))(t)
				}
				sleep(2 * time.Hour)
				if s := status(t, l, "t"); s != posthouse.StatusCancelled || ran.Load() != 0 {
					t.Errorf("%s, cancelled by its %s, is %s and ran %d times", p.Name(), by, s, ran.Load())
				}
			})
		}
	}
}

// TestStartAtIsRefused: times that are past, or beyond the limit, leave nothing on record. A time
// that has just passed is now.
func TestStartAtIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := open(t, memstore.New(), "a")
		var ran atomic.Int32
		for _, p := range starters(t, l, &ran) {
			for _, d := range []time.Duration{-runs.MaxStartLate - 1, -time.Hour, runs.MaxStartAhead + 1} {
				_, err := p.StartJSON(t.Context(), "t", inputOf(p), &posthouse.StartOptions{StartAt: time.Now().Add(d)})
				must.Fail(t, err, posthouse.ErrInvalid)
				if e, _ := err.(*posthouse.Error); e == nil || e.Field != "StartAt" || e.Hint == "" {
					t.Errorf("%s refuses a start in %v with %#v", p.Name(), d, err)
				}
				_, err = l.Thread(t.Context(), "t")
				must.Fail(t, err, posthouse.ErrNotFound)
			}
			late := must.Get(p.StartJSON(t.Context(), p.Name()+"-late", inputOf(p), &posthouse.StartOptions{StartAt: time.Now().Add(-runs.MaxStartLate)}))(t)
			if !late.Status.Runnable() || len(late.Gates) != 0 {
				t.Errorf("%s, to start a minute ago, is %s", p.Name(), late.Status)
			}
			far := must.Get(p.StartJSON(t.Context(), p.Name()+"-far", inputOf(p), &posthouse.StartOptions{StartAt: time.Now().Add(runs.MaxStartAhead)}))(t)
			if far.Status != posthouse.StatusWaiting {
				t.Errorf("%s, to start in a year, is %s", p.Name(), far.Status)
			}
		}
	})
}

// TestForkOfADelayedRun: a fork of a run that has not started waits for the same time, whatever its
// input. A fork at the input after that time is a person's to resume.
func TestForkOfADelayedRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := open(t, memstore.New(), "a")
		var ran atomic.Int32
		p := starters(t, l, &ran)[0]
		run(t, l, runner.Options{Programs: []posthouse.Program{p}})
		h := must.Get(p.StartJSON(t.Context(), "t", inputOf(p), &posthouse.StartOptions{StartAt: time.Now().Add(time.Hour)}))(t)
		same := must.Get(l.Fork(t.Context(), h.ID, nil))(t)
		other := must.Get(l.Fork(t.Context(), h.ID, &ledger.ForkOptions{Patch: posthouse.State{"X": {Codec: "json", Data: []byte("2")}}}))(t)
		if same.Status != posthouse.StatusWaiting || other.Status != posthouse.StatusWaiting {
			t.Errorf("the forks are %s and %s", same.Status, other.Status)
		}
		sleep(time.Hour - time.Second)
		if ran.Load() != 0 {
			t.Errorf("%d of them ran before the time", ran.Load())
		}
		sleep(3 * time.Second)
		if ran.Load() != 3 {
			t.Errorf("%d ran, want the run and its two forks", ran.Load())
		}
		late := must.Get(l.Fork(t.Context(), h.ID, nil))(t)
		sleep(time.Hour)
		if late.Status != posthouse.StatusInterrupted || ran.Load() != 3 {
			t.Errorf("the fork after the start is %s, and %d ran", late.Status, ran.Load())
		}
		must.Do(t, p.Advance(t.Context(), "t", late.Branch))
		if ran.Load() != 4 {
			t.Errorf("resumed, %d ran, want 4", ran.Load())
		}
	})
}

// TestRunThatStartsLater: the calls of the models return at once, and say that the run waits.
func TestRunThatStartsLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := open(t, memstore.New(), "a")
		var ran atomic.Int32
		all := starters(t, l, &ran)
		at := time.Now().Add(time.Hour)
		res := must.Get(all[0].(*graph.App[struct{ X int }]).Run(t.Context(), "g", struct{ X int }{1}, graph.RunOptions{StartAt: at, Run: "once"}))(t)
		again := must.Get(all[0].(*graph.App[struct{ X int }]).Run(t.Context(), "g", struct{ X int }{1}, graph.RunOptions{StartAt: at, Run: "once"}))(t)
		if res.Status != posthouse.StatusWaiting || len(res.Waiting) != 1 || again.Checkpoint != res.Checkpoint {
			t.Errorf("the graph is %+v, and again %+v", res, again)
		}
		out := must.Get(all[1].(*flow.App[string, string]).Run(t.Context(), "f", "x", flow.RunOptions{StartAt: at}))(t)
		if out.Status != posthouse.StatusWaiting || len(out.Waiting) != 1 {
			t.Errorf("the flow is %+v", out)
		}
		reply := must.Get(all[2].(*coord.Coordinator).Handle(t.Context(), "x", &coord.HandleOptions{Thread: "c", StartAt: at}))(t)
		if reply.Status != posthouse.StatusWaiting {
			t.Errorf("the coordinator replies %+v", reply)
		}
		_, err := all[1].(*flow.App[string, string]).Resume(t.Context(), "f", flow.RunOptions{StartAt: at})
		must.Fail(t, err, posthouse.ErrInvalid)
		run(t, l, runner.Options{Programs: []posthouse.Program{all[0], all[1], all[2]}})
		sleep(time.Hour + time.Second)
		if ran.Load() != 3 {
			t.Errorf("%d ran, want 3", ran.Load())
		}
	})
}
