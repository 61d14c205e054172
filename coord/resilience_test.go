package coord_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/coord"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
)

// A faulty store fails its n-th append: before it happened, or after, when the
// answer is lost.
type faulty struct {
	posthouse.Store
	failAt int32
	after  bool
	n      atomic.Int32
}

func (s *faulty) Append(ctx context.Context, b *posthouse.Batch) error {
	if s.n.Add(1) == s.failAt {
		if !s.after {
			return &posthouse.Error{Code: posthouse.CodeFull, Message: "injected"}
		}
		if err := s.Store.Append(ctx, b); err != nil {
			return err
		}
		return &posthouse.Error{Code: posthouse.CodeReadOnly, Message: "injected"}
	}
	return s.Store.Append(ctx, b)
}

// samePlace makes a process the heir of one that crashed: it need not wait for
// the leases of that one to run out.
var samePlace = &ledger.Options{Owner: "here"}

// Whichever append of the walk fails, the run says so, and a new process goes on
// from what is on record: nothing recorded is done again, nothing is passed over.
func TestAnyFailedSaveStopsTheRun(t *testing.T) {
	for _, after := range []bool{false, true} {
		failures := 0
		for n := int32(1); ; n++ {
			base, w := memstore.New(), &world{}
			store := &faulty{Store: base, failAt: n, after: after}
			l := open(t, store, samePlace)
			c := coordinator(t, l, approvalFleet(t, w), approval(w))
			restart := func() {
				l = open(t, base, samePlace)
				c = coordinator(t, l, approvalFleet(t, w), approval(w))
			}
			r, err := c.Handle(t.Context(), "x", &coord.HandleOptions{Thread: "t"})
			if err != nil {
				failures++
				if restart(); len(log(t, l, "t")) == 0 {
					r = must.Get(c.Handle(t.Context(), "x", &coord.HandleOptions{Thread: "t"}))(t)
				} else {
					r = must.Get(c.Resume(t.Context(), "t", nil))(t)
				}
			}
			if _, err := l.Decide(t.Context(), r.Gate, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"}); err != nil {
				failures++
				if restart(); must.Get(l.Gate(t.Context(), r.Gate))(t).Decision == nil {
					decide(t, l, r.Gate, posthouse.Approve, "alice")
				}
			}
			_, err = c.Resume(t.Context(), "t", nil)
			if err != nil {
				failures++
				restart()
				must.Get(c.Resume(t.Context(), "t", nil))(t)
			}
			wantList(t, "checkpoints", checkpoints(t, l, posthouse.Query{Thread: "t"}),
				"event analyzer waiting <root", "node approver done <0")
			effects, recorded := 0, 0
			for _, call := range w.calls {
				if call == "effect" {
					effects++
				}
			}
			for _, e := range log(t, l, "t") {
				if e == "agent:approver.do>refund" {
					recorded++
				}
			}
			// Only an effect without a record is repeated: the one of n 4.
			if recorded != 1 || effects != 1 && !(n == 4 && !after) {
				t.Errorf("append %d, after %v: %d effects, %d records", n, after, effects, recorded)
			}
			if failures < int(n) {
				if n < 4 {
					t.Fatalf("only %d appends were made to fail", failures)
				}
				break
			}
		}
	}
}

// A step below an agent that is called first: the request is on record before
// the step acts, so that a crash in it can be resumed.
func TestTheRequestIsOnRecordBeforeAStepActs(t *testing.T) {
	store := memstore.New()
	crash := true
	var seen []string
	var l *ledger.Ledger
	f := must.Get(coord.NewFleet(coord.Agent{Name: "a", Skills: map[string]coord.Skill{
		"do": func(ctx context.Context, c coord.Call) (coord.Result, error) {
			err := do(ctx, "act", func() error {
				seen = append(seen, fmt.Sprint(log(t, l, "t")))
				if crash {
					panic(crashed{})
				}
				return nil
			})
			return coord.Result{Text: "acted"}, err
		},
	}}))(t)
	handler := func(ctx context.Context, m string, f *coord.Fleet, s *coord.Session) error {
		r, err := call(ctx, f, "a", m)
		s.Stream(r.Text + " on " + m)
		if crash { // the process dies: nothing more is written
			return errors.Join(err, l.Close())
		}
		return err
	}
	l = open(t, store, samePlace)
	if _, err := coordinator(t, l, f, handler).Handle(t.Context(), "it", &coord.HandleOptions{Thread: "t", By: "carol"}); err == nil {
		t.Fatal("no error from a closed ledger")
	}
	l, crash = open(t, store, samePlace), false
	r := must.Get(coordinator(t, l, f, handler).Resume(t.Context(), "t", nil))(t)
	if r.Text != "acted on it" || r.Status != posthouse.StatusDone {
		t.Fatalf("reply %+v", r)
	}
	wantList(t, "log as the step acted", seen, "[claim, coord:request, cp running]", "[claim, coord:request, cp running claim]")
	wantList(t, "checkpoints", checkpoints(t, l, posthouse.Query{Thread: "t"}), "event running <root", "node a done <0")
	root := must.Get(l.Latest(t.Context(), ledger.LatestQuery{Thread: "t"}))(t)
	first := must.Get(l.GetHeader(t.Context(), root.Parent))(t)
	if s := state[coord.RequestState](t, l, first.ID); s.Request != "it" || first.By != "carol" {
		t.Fatalf("state %+v of %+v", s, first)
	}
}

type crashed struct{}

// An agent's completion is on record before the next agent acts, and before a
// step of the handler's own.
func TestACompletionIsOnRecordBeforeWhatFollows(t *testing.T) {
	l, w := newLedger(t), &world{}
	var before []string
	peek := func() { before = append(before, fmt.Sprint(log(t, l, "t"))) }
	second := func(ctx context.Context, c coord.Call) (coord.Result, error) { peek(); return w.skill("b")(ctx, c) }
	f := must.Get(coord.NewFleet(coord.Agent{Name: "a", Skills: map[string]coord.Skill{"do": w.skill("a")}},
		coord.Agent{Name: "b", Skills: map[string]coord.Skill{"do": second}}))(t)
	c := coordinator(t, l, f, func(ctx context.Context, m string, f *coord.Fleet, s *coord.Session) error {
		for _, a := range []string{"a", "b"} {
			if _, err := call(ctx, f, a, m); err != nil {
				return err
			}
		}
		return do(ctx, "own", func() error { peek(); return nil })
	})
	must.Get(c.Handle(t.Context(), "x", &coord.HandleOptions{Thread: "t"}))(t)
	wantList(t, "before", before,
		"[claim, coord:request, agent:a.do, cp a running]",
		"[claim, coord:request, agent:a.do, cp a running agent:b.do, cp b running]")
	wantList(t, "checkpoints", checkpoints(t, l, posthouse.Query{Thread: "t"}), "event a running <root", "event b running <0", "node done <1")
}

// Two questions, one decided: the other stays open, and an agent in between is
// committed without withdrawing it.
func TestTwoQuestionsDecidedOneByOne(t *testing.T) {
	l, w := newLedger(t), &world{}
	c := coordinator(t, l, w.fleet(t, "a", "b"), func(ctx context.Context, m string, f *coord.Fleet, s *coord.Session) error {
		_, err1 := ask(ctx, "first?")
		_, err2 := ask(ctx, "second?")
		if err1 != nil {
			return errors.Join(err1, err2)
		}
		if _, err := call(ctx, f, "a", m); err != nil {
			return err
		}
		if err2 != nil {
			return err2
		}
		_, err := call(ctx, f, "b", m)
		return err
	})
	r := must.Get(c.Handle(t.Context(), "x", nil))(t)
	if len(r.Gates) != 2 {
		t.Fatalf("reply %+v", r)
	}
	entries := len(log(t, l, r.Thread))
	if again := must.Get(c.Resume(t.Context(), r.Thread, nil))(t); len(again.Gates) != 2 || len(log(t, l, r.Thread)) != entries {
		t.Fatalf("resuming what waits wrote something: %+v", again)
	}
	decide(t, l, r.Gates[0], posthouse.Approve, "alice")
	r2 := must.Get(c.Resume(t.Context(), r.Thread, nil))(t)
	if r2.Status != posthouse.StatusWaiting || !slices.Equal(r2.Gates, r.Gates[1:]) {
		t.Fatalf("reply %+v", r2)
	}
	decide(t, l, r.Gates[1], posthouse.Approve, "bob")
	r3 := must.Get(c.Resume(t.Context(), r.Thread, nil))(t)
	wantList(t, "calls", w.calls, "a", "b")
	wantList(t, "checkpoints", checkpoints(t, l, posthouse.Query{Thread: r.Thread}),
		"wait waiting <root", "event a waiting <0", "node b done <1")
	if r3.Status != posthouse.StatusDone {
		t.Fatalf("reply %+v", r3)
	}
}

// One of two decided and nothing done: the branch waits again, so that a runner
// does not take it for runnable.
func TestReadyButStillWaiting(t *testing.T) {
	l, w := newLedger(t), &world{}
	c := coordinator(t, l, w.fleet(t, "a"), func(ctx context.Context, m string, f *coord.Fleet, s *coord.Session) error {
		_, err1 := ask(ctx, "first?")
		_, err2 := ask(ctx, "second?")
		return errors.Join(err1, err2)
	})
	r := must.Get(c.Handle(t.Context(), "x", nil))(t)
	decide(t, l, r.Gates[1], posthouse.Approve, "alice")
	r2 := must.Get(c.Resume(t.Context(), r.Thread, nil))(t)
	if info := must.Get(l.Thread(t.Context(), r.Thread))(t); info.Runnable() || len(info.Waiting) != 1 || r2.Gate != r.Gates[0] {
		t.Fatalf("thread %+v, reply %+v", info, r2)
	}
	decide(t, l, r.Gates[0], posthouse.Approve, "alice")
	if r3 := must.Get(c.Resume(t.Context(), r.Thread, nil))(t); r3.Status != posthouse.StatusDone {
		t.Fatalf("reply %+v", r3)
	}
}

func TestCancelBeforeAnAgentCompletesLeavesNothing(t *testing.T) {
	l := newLedger(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("the caller hung up")
	f := must.Get(coord.NewFleet(coord.Agent{Name: "a", Skills: map[string]coord.Skill{
		"do": func(ctx context.Context, _ coord.Call) (coord.Result, error) {
			cancel(why)
			return coord.Result{}, ctx.Err()
		},
	}}))(t)
	c := coordinator(t, l, f, func(ctx context.Context, m string, f *coord.Fleet, s *coord.Session) error {
		_, err := call(ctx, f, "a", m)
		return err
	})
	_, err := c.Handle(ctx, "x", &coord.HandleOptions{Thread: "t"})
	if !errors.Is(err, why) {
		t.Fatalf("error %v", err)
	}
	if have := log(t, l, "t"); len(have) != 0 {
		t.Fatalf("log %q", have)
	}
}

// Cancelled between two agents: what completed is kept and can be resumed.
func TestCancelAfterAnAgentCompletedKeepsIt(t *testing.T) {
	l, w := newLedger(t), &world{}
	ctx, cancel := context.WithCancel(t.Context())
	c := coordinator(t, l, w.fleet(t, "a", "b"), func(ctx context.Context, m string, f *coord.Fleet, s *coord.Session) error {
		if _, err := call(ctx, f, "a", m); err != nil {
			return err
		}
		cancel()
		_, err := call(ctx, f, "b", m)
		return err
	})
	r, err := c.Handle(ctx, "x", &coord.HandleOptions{Thread: "t"})
	if !errors.Is(err, context.Canceled) || r.Status != posthouse.StatusRunning {
		t.Fatalf("reply %+v, error %v", r, err)
	}
	wantList(t, "log", log(t, l, "t"), "claim, coord:request, agent:a.do, cp a running", "unclaim")
	must.Get(c.Resume(t.Context(), "t", nil))(t)
	wantList(t, "calls", w.calls, "a", "b")
}

// A process that shuts down stops between two agents.
func TestDrainingStopsBetweenAgents(t *testing.T) {
	l, w := newLedger(t), &world{}
	drain := make(chan struct{})
	c := coordinator(t, l, w.fleet(t, "a", "b"), func(ctx context.Context, m string, f *coord.Fleet, s *coord.Session) error {
		if _, err := call(ctx, f, "a", m); err != nil {
			return err
		}
		select {
		case <-drain:
		default:
			close(drain)
		}
		_, err := call(ctx, f, "b", m)
		return err
	})
	ctx := engine.WithDrain(t.Context(), drain)
	r := must.Get(c.Handle(ctx, "x", &coord.HandleOptions{Thread: "t"}))(t)
	if r.Status != posthouse.StatusRunning {
		t.Fatalf("reply %+v", r)
	}
	if err := c.Advance(ctx, "t", ""); err != nil {
		t.Fatal(err)
	}
	wantList(t, "calls", w.calls, "a")
	if err := c.Advance(t.Context(), "t", ""); err != nil {
		t.Fatal(err)
	}
	wantList(t, "calls", w.calls, "a", "b")
}

func TestAThreadIsRunByOne(t *testing.T) {
	l := newLedger(t)
	var c *coord.Coordinator
	f := must.Get(coord.NewFleet(coord.Agent{Name: "a", Skills: map[string]coord.Skill{
		"do": func(ctx context.Context, _ coord.Call) (coord.Result, error) {
			_, err := c.Handle(ctx, "again", &coord.HandleOptions{Thread: "t"})
			return coord.Result{}, err
		},
	}}))(t)
	c = coordinator(t, l, f, func(ctx context.Context, m string, f *coord.Fleet, s *coord.Session) error {
		r, err := call(ctx, f, "a", m)
		s.Stream(r.Text)
		return err
	})
	r := must.Get(c.Handle(t.Context(), "x", &coord.HandleOptions{Thread: "t"}))(t)
	if r.Status != posthouse.StatusFailed || r.Text == "" {
		t.Fatalf("reply %+v", r)
	}
}

// Agents called at once: their completions become a chain, and a later
// execution answers both.
func TestAgentsAtOnceBecomeAChain(t *testing.T) {
	l := newLedger(t)
	var calls atomic.Int32
	names := []string{"a", "b", "c", "d"}
	var agents []coord.Agent
	var meet sync.WaitGroup
	meet.Add(len(names))
	for _, n := range names {
		agents = append(agents, coord.Agent{Name: n, Skills: map[string]coord.Skill{
			"do": func(ctx context.Context, c coord.Call) (coord.Result, error) {
				meet.Done()
				meet.Wait() // all of them run at once
				err := do(engine.Unordered(ctx), "act", func() error { calls.Add(1); return nil })
				return coord.Result{Text: c.Agent}, err
			},
		}})
	}
	c := coordinator(t, l, must.Get(coord.NewFleet(agents...))(t), func(ctx context.Context, m string, f *coord.Fleet, s *coord.Session) error {
		var wg sync.WaitGroup
		errs := make([]error, len(names))
		for i, n := range names {
			wg.Go(func() {
				var r coord.Result
				r, errs[i] = call(ctx, f, n, m)
				if errs[i] == nil && r.Text != n {
					errs[i] = fmt.Errorf("%s answered %q", n, r.Text)
				}
			})
		}
		wg.Wait()
		if err := errors.Join(errs...); err != nil {
			return err
		}
		_, err := ask(ctx, "fine?")
		return err
	})
	r := must.Get(c.Handle(t.Context(), "x", nil))(t)
	decide(t, l, r.Gate, posthouse.Approve, "alice")
	r = must.Get(c.Resume(t.Context(), r.Thread, nil))(t)
	if r.Status != posthouse.StatusDone || calls.Load() != int32(len(names)) {
		t.Fatalf("reply %+v after %d calls", r, calls.Load())
	}
	seen := map[posthouse.ID]bool{}
	n := 0
	for h, err := range l.List(t.Context(), posthouse.Query{Thread: r.Thread}) {
		if err != nil {
			t.Fatal(err)
		}
		if seen[h.Parent] {
			t.Fatalf("siblings below %q", h.Parent)
		}
		seen[h.Parent] = true
		n++
	}
	if n != 6 && n != 5 { // the request, four agents, the end; the request only if a step came first
		t.Fatalf("%d checkpoints", n)
	}
}

// A handler that swallows a failed save fails all the same.
func TestASwallowedSaveErrorIsStillTheRuns(t *testing.T) {
	for n := int32(1); n <= 2; n++ {
		store, w := &faulty{Store: memstore.New(), failAt: n}, &world{}
		l := open(t, store, nil)
		c := coordinator(t, l, w.fleet(t, "a", "b", "c"), func(ctx context.Context, m string, f *coord.Fleet, s *coord.Session) error {
			for _, a := range []string{"a", "b", "c"} {
				_, _ = call(ctx, f, a, m)
			}
			_ = do(ctx, "own", func() error { return nil })
			return nil
		})
		_, err := c.Handle(t.Context(), "x", nil)
		must.Fail(t, err, posthouse.ErrFull)
		if len(w.calls) > int(n) {
			t.Errorf("agents ran on after save %d failed: %q", n, w.calls)
		}
	}
}

func TestAnExpiredGateIsADecision(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	store, w := memstore.New(), &world{}
	o := &ledger.Options{Now: func() time.Time { return now }}
	var verdict posthouse.Verdict
	handler := func(ctx context.Context, m string, f *coord.Fleet, s *coord.Session) error {
		task, _ := engine.From(ctx)
		g, err := task.Gates().Ask(ctx, posthouse.Gate{Name: "soon?", ExpiresAt: now.Add(time.Hour)})
		if err != nil {
			return err
		}
		verdict = g.Decision.Verdict
		return nil
	}
	r := must.Get(coordinator(t, open(t, store, o), w.fleet(t, "a"), handler).Handle(t.Context(), "x", nil))(t)
	now = now.Add(2 * time.Hour)
	r = must.Get(coordinator(t, open(t, store, o), w.fleet(t, "a"), handler).Resume(t.Context(), r.Thread, nil))(t)
	if verdict != posthouse.Expire || r.Status != posthouse.StatusDone {
		t.Fatalf("verdict %q, reply %+v", verdict, r)
	}
}
