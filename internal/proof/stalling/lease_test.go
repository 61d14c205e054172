package stalling_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/coord"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/proof/stalling"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/memstore"
)

// A world counts what programs do to it. At one of the things that process a does, the
// connection of a is cut.
type world struct {
	mu    sync.Mutex
	did   map[string]int
	by    map[string]string
	cutAt string
	cut   func()
	hold  func(ctx context.Context) error // what a does at cutAt; nil: nothing
}

func (w *world) do(ctx context.Context, process, what string) error {
	w.mu.Lock()
	w.did[what]++
	w.by[what] += process
	cut := process == "a" && what == w.cutAt
	w.mu.Unlock()
	if cut {
		w.cut()
		if w.hold != nil {
			return w.hold(ctx)
		}
	}
	return nil
}

// A model runs one, two and three over thread t, by a process.
type model func(l *ledger.Ledger, w *world, process string) (begin, resume func(context.Context) error, err error)

var parts = []string{"one", "two", "three"}

func flowModel(l *ledger.Ledger, w *world, process string) (begin, resume func(context.Context) error, err error) {
	a, err := flow.New("f", func(ctx context.Context, _ int) (int, error) {
		for _, p := range parts {
			if _, err := step.Do(ctx, p, func(ctx context.Context) (int, error) { return 0, w.do(ctx, process, p) }); err != nil {
				return 0, err
			}
		}
		return 0, nil
	}).Open(l, nil)
	return func(ctx context.Context) error { _, err := a.Run(ctx, "t", 1); return err },
		func(ctx context.Context) error { _, err := a.Resume(ctx, "t"); return err }, err
}

type state struct{ N int }

func graphModel(l *ledger.Ledger, w *world, process string) (begin, resume func(context.Context) error, err error) {
	g := graph.New[state]("g")
	before := graph.Start
	for _, p := range parts {
		g.Node(p, func(ctx context.Context, s *state) error { s.N++; return w.do(ctx, process, p) })
		g.Edge(before, p)
		before = p
	}
	g.Edge(before, graph.End)
	a, err := g.Compile(l, nil)
	if err != nil {
		return nil, nil, err
	}
	return func(ctx context.Context) error { _, err := a.Run(ctx, "t", state{}); return err },
		func(ctx context.Context) error { _, err := a.Resume(ctx, "t"); return err }, nil
}

func coordModel(l *ledger.Ledger, w *world, process string) (begin, resume func(context.Context) error, err error) {
	var skills []coord.Agent
	for _, p := range parts {
		skills = append(skills, coord.Agent{Name: p, Skills: map[string]coord.Skill{"do": func(ctx context.Context, _ coord.Call) (coord.Result, error) {
			return coord.Result{Text: p}, w.do(ctx, process, p)
		}}})
	}
	fleet, err := coord.NewFleet(skills...)
	if err != nil {
		return nil, nil, err
	}
	c, err := coord.New(l, "c", fleet, func(ctx context.Context, _ string, f *coord.Fleet, _ *coord.Session) error {
		for _, p := range parts {
			if _, err := f.Agent(p).Call(ctx, "do", nil); err != nil {
				return err
			}
		}
		return nil
	}, nil)
	if err != nil {
		return nil, nil, err
	}
	return func(ctx context.Context) error {
			_, err := c.Handle(ctx, "go", &coord.HandleOptions{Thread: "t"})
			return err
		},
		func(ctx context.Context) error { _, err := c.Resume(ctx, "t", nil); return err }, nil
}

// An alone store says that only this process has it open, which is not so: the control arm.
type alone struct {
	posthouse.Store
	runs posthouse.Running
}

func (*alone) Exclusive() bool            { return true }
func (a *alone) Runs() *posthouse.Running { return &a.runs }

func open(t *testing.T, s posthouse.Store, owner string) *ledger.Ledger {
	t.Helper()
	l, err := ledger.Open(s, &ledger.Options{Owner: owner, Validate: gate.Validator()})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// takeOver resumes as soon as the lease is free.
func takeOver(t *testing.T, resume func(context.Context) error) error {
	t.Helper()
	for range 100 {
		err := resume(t.Context())
		if !errors.Is(err, posthouse.ErrBusy) {
			return err
		}
		<-time.After(100 * time.Millisecond)
	}
	return errors.New("the thread is busy for ever")
}

// TestNothingRunsAgainAfterALapse cuts a process off for longer than its lease, with the
// answer to a commit held until after that to a renewal of its liveness. Another process
// takes over and ends the thread. The first one repeats nothing of it. In the control arm it
// believes that it alone has the store.
func TestNothingRunsAgainAfterALapse(t *testing.T) {
	for name, m := range map[string]model{"flow": flowModel, "graph": graphModel, "coord": coordModel} {
		for _, control := range []bool{false, true} {
			for _, cutAt := range parts[:2] {
				if name != "flow" && cutAt == "one" {
					continue // with nothing on record yet
				}
				t.Run(fmt.Sprint(name, "/cut at ", cutAt, "/control ", control), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { lapse(t, m, control, cutAt) })
				})
			}
		}
	}
}

func lapse(t *testing.T, m model, control bool, cutAt string) {
	below := memstore.New()
	conn := stalling.New(below)
	var mine posthouse.Store = conn
	if control {
		mine = &alone{Store: conn}
	}
	la, lb := open(t, mine, "a"), open(t, below, "b")
	defer lb.Close()
	defer la.Close()
	w := &world{did: map[string]int{}, by: map[string]string{}, cutAt: cutAt, cut: conn.Cut}
	begin, _, err := m(la, w, "a")
	if err != nil {
		t.Fatal(err)
	}
	_, resume, err := m(lb, w, "b")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- begin(t.Context()) }()
	synctest.Wait()
	if err := takeOver(t, resume); err != nil {
		t.Fatal("the other process:", err)
	}
	before := fmt.Sprint(w.by)
	conn.Heal()
	err = <-ended
	again := fmt.Sprint(w.by) != before
	if again != control {
		t.Errorf("the first process did something again: %v, want %v; by whom: %v, then %v", again, control, before, w.by)
	}
	if !control && !errors.Is(err, posthouse.ErrFenced) {
		t.Errorf("the first process ended with %v, want ErrFenced", err)
	}
}

// TestCutWithoutATakeover goes on after a cut in which no other process took the
// thread.
func TestCutWithoutATakeover(t *testing.T) {
	for name, m := range map[string]model{"flow": flowModel, "graph": graphModel, "coord": coordModel} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				conn := stalling.New(memstore.New())
				l := open(t, conn, "a")
				defer l.Close()
				w := &world{did: map[string]int{}, by: map[string]string{}, cutAt: "two", cut: conn.Cut}
				begin, _, err := m(l, w, "a")
				if err != nil {
					t.Fatal(err)
				}
				ended := make(chan error, 1)
				go func() { ended <- begin(t.Context()) }()
				<-time.After(time.Minute)
				conn.Heal()
				if err := <-ended; err != nil || fmt.Sprint(w.did) != "map[one:1 three:1 two:1]" {
					t.Errorf("%v, done: %v", err, w.did)
				}
			})
		})
	}
}

// TestALapseStopsARunningStep: a lapse ends the context of a step that runs while the
// connection is cut. An effect with a recorded use goes on, and its result counts if no
// other process took the thread.
func TestALapseStopsARunningStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn := stalling.New(memstore.New())
		l := open(t, conn, "a")
		defer l.Close()
		var cause error
		took := time.Duration(0)
		w := &world{did: map[string]int{}, by: map[string]string{}, cutAt: "two", cut: conn.Cut}
		w.hold = func(ctx context.Context) error {
			begun := time.Now()
			<-ctx.Done()
			took, cause = time.Since(begun), context.Cause(ctx)
			conn.Heal()
			w.cutAt = ""
			return ctx.Err()
		}
		begin, resume, err := flowModel(l, w, "a")
		if err != nil {
			t.Fatal(err)
		}
		if err := begin(t.Context()); !errors.Is(err, posthouse.ErrUnavailable) {
			t.Errorf("the run ended with %v", err)
		}
		if !errors.Is(cause, posthouse.ErrUnavailable) || took > 3*time.Second {
			t.Errorf("stopped after %v, because: %v", took, cause)
		}
		if err := resume(t.Context()); err != nil || fmt.Sprint(w.did) != "map[one:1 three:1 two:2]" {
			t.Errorf("resumed: %v, done: %v", err, w.did)
		}
	})
}

// pays is a flow that pays under a grant, beside a step.
func pays(l *ledger.Ledger, pay func(context.Context) error) (*flow.App[int, int], error) {
	return flow.New("pay", func(ctx context.Context, _ int) (int, error) {
		g, err := gate.Propose(ctx, gate.Question{Name: "pay"}, 500)
		if err != nil {
			return 0, err
		}
		return gate.Act(ctx, "pay", g, func(ctx context.Context, n int) (int, error) { return n, pay(ctx) })
	}).Open(l, nil)
}

// TestAnEffectOnRecordGoesOn has an effect under a grant run through a lapse.
func TestAnEffectOnRecordGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn := stalling.New(memstore.New())
		l := open(t, conn, "a")
		defer l.Close()
		paid := 0
		a, err := pays(l, func(ctx context.Context) error {
			paid++
			conn.Cut()
			<-time.After(20 * time.Second)
			conn.Heal()
			return ctx.Err()
		})
		if err != nil {
			t.Fatal(err)
		}
		out, err := a.Run(t.Context(), "t", 1)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Decide(t.Context(), out.Waiting[0].ID, posthouse.Decision{Verdict: posthouse.Approve, By: "bob"}); err != nil {
			t.Fatal(err)
		}
		out, err = a.Resume(t.Context(), "t")
		if err != nil || out.Output != 500 || paid != 1 {
			t.Errorf("%+v, %v, paid %d times", out, err, paid)
		}
	})
}

// TestAnEffectDoesNotBeginAfterALapse holds the answer to the commit of an effect's use until
// another process has taken the thread: only who asks people again may act.
func TestAnEffectDoesNotBeginAfterALapse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		below := memstore.New()
		conn := stalling.New(below)
		la, lb := open(t, conn, "a"), open(t, below, "b")
		defer lb.Close()
		defer la.Close()
		paid := ""
		a, err := pays(la, func(context.Context) error { paid += "a"; return nil })
		if err != nil {
			t.Fatal(err)
		}
		b, err := pays(lb, func(context.Context) error { paid += "b"; return nil })
		if err != nil {
			t.Fatal(err)
		}
		out, err := b.Run(t.Context(), "t", 1)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := lb.Decide(t.Context(), out.Waiting[0].ID, posthouse.Decision{Verdict: posthouse.Approve, By: "bob"}); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		conn.CutAfter(2) // the claim, and the use
		go func() { _, err := a.Resume(t.Context(), "t"); ended <- err }()
		synctest.Wait()
		err = takeOver(t, func(ctx context.Context) error {
			out, err := b.Resume(ctx, "t")
			if err == nil && out.Status != posthouse.StatusWaiting {
				t.Errorf("an effect of unknown outcome left the thread %s", out.Status)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		conn.Heal()
		if err := <-ended; !errors.Is(err, posthouse.ErrFenced) || paid != "" {
			t.Errorf("%v; paid by %q", err, paid)
		}
	})
}
