package graph_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/store/memstore"
)

func onBusy(b runs.OnBusy) graph.RunOptions { return graph.RunOptions{OnBusy: b} }

func TestEnqueueIsFirstComeFirstServed(t *testing.T) {
	s := newStage(t, newLedger(t))
	var hs []*graph.Handle[trail]
	for i := range 6 {
		hs = append(hs, s.start(t, fmt.Sprint(i), onBusy(runs.Enqueue)))
	}
	if err := hs[3].Cancel(t.Context(), "changed my mind"); err != nil {
		t.Fatal(err)
	}
	<-s.runs
	close(s.let)
	wantEnd(t, hs[5], runs.Done, posthouse.StatusDone, "a0", "b0", "a1", "b1", "a2", "b2", "a4", "b4", "a5", "b5")
	if _, err := hs[3].Result(); !errors.Is(err, posthouse.ErrCancelled) || hs[3].Reason() != runs.Cancelled {
		t.Error("cancelled in line:", err, hs[3].Reason())
	}
}

// A wait in line ends with its context, and the next one has its place.
func TestEnqueueGivesUp(t *testing.T) {
	s := newStage(t, newLedger(t))
	first := s.start(t, "1")
	<-s.runs
	ctx, cancel := context.WithCancel(t.Context())
	second := must.Get(s.app.Start(ctx, "t", trail{Go: "2"}, onBusy(runs.Enqueue)))(t)
	third := s.start(t, "3", onBusy(runs.Enqueue))
	cancel()
	if _, err := second.Result(); !errors.Is(err, context.Canceled) || second.Reason() != runs.Failed {
		t.Error(err)
	}
	close(s.let)
	wantEnd(t, first, runs.Done, posthouse.StatusDone, "a1", "b1")
	wantEnd(t, third, runs.Done, posthouse.StatusDone, "a1", "b1", "a3", "b3")
}

func TestInterruptKeepsProgress(t *testing.T) {
	s := newStage(t, newLedger(t))
	old := s.start(t, "1")
	<-s.runs
	young := s.start(t, "2", onBusy(runs.Interrupt))
	wantEnd(t, old, runs.Cancelled, posthouse.StatusCancelled, "a1")
	if in := <-s.runs; in != "2" {
		t.Error("runs", in)
	}
	close(s.let)
	wantEnd(t, young, runs.Done, posthouse.StatusDone, "a1", "a2", "b2")
	wantEnd(t, s.start(t, "3", onBusy(runs.Interrupt)), runs.Done, posthouse.StatusDone, "a1", "a2", "b2", "a3", "b3")
}

// Rolling back goes on from before the input of the cancelled run, be that the
// first of the thread or not. The past stays readable.
func TestRollback(t *testing.T) {
	l := newLedger(t)
	s := newStage(t, l)
	first := s.start(t, "1")
	<-s.runs
	second := s.start(t, "2", onBusy(runs.Rollback))
	wantEnd(t, first, runs.Cancelled, posthouse.StatusCancelled, "a1")
	<-s.runs
	s.let <- struct{}{}
	base := wantEnd(t, second, runs.Done, posthouse.StatusDone, "a2", "b2")

	third := s.start(t, "3")
	<-s.runs
	fourth := s.start(t, "4", onBusy(runs.Rollback))
	gone := wantEnd(t, third, runs.Cancelled, posthouse.StatusCancelled, "a2", "b2", "a3")
	<-s.runs
	close(s.let)
	wantEnd(t, fourth, runs.Done, posthouse.StatusDone, "a2", "b2", "a4", "b4")
	var restored *graph.Snapshot[trail]
	for _, c := range history(t, s.app, "t") {
		if c.Kind == posthouse.KindUpdate && restored == nil {
			restored = c
		}
	}
	if restored.Source == nil || restored.Source.ID != base.Checkpoint || restored.Status != posthouse.StatusDone {
		t.Errorf("restored by %+v", restored.Header)
	}
	if old := must.Get(s.app.State(t.Context(), "t", graph.StateOptions{Checkpoint: gone.Checkpoint}))(t); len(old.State.Nodes) != 3 {
		t.Errorf("the past is %+v", old.State)
	}
	// Nothing to roll back: the other had ended by itself.
	wantEnd(t, s.start(t, "5", onBusy(runs.Rollback)), runs.Done, posthouse.StatusDone, "a2", "b2", "a4", "b4", "a5", "b5")
}

// A run that waits for another process's run looks again; interrupting asks the
// other, which hears of it with its next commit.
func TestOnBusyAcrossProcesses(t *testing.T) {
	for _, b := range []runs.OnBusy{runs.Enqueue, runs.Interrupt} {
		synctest.Test(t, func(t *testing.T) {
			store := memstore.New()
			one := newStage(t, open(t, store, &ledger.Options{Owner: "one"}))
			two := newStage(t, open(t, store, &ledger.Options{Owner: "two"}))
			old := one.start(t, "1")
			<-one.runs
			young := two.start(t, "2", onBusy(b))
			time.Sleep(5 * time.Second) // its holder lives: only the lease rules say otherwise
			close(one.let)
			close(two.let)
			if b == runs.Interrupt {
				wantEnd(t, old, runs.Cancelled, posthouse.StatusCancelled, "a1")
				wantEnd(t, young, runs.Done, posthouse.StatusDone, "a1", "a2", "b2")
			} else {
				wantEnd(t, old, runs.Done, posthouse.StatusDone, "a1", "b1")
				wantEnd(t, young, runs.Done, posthouse.StatusDone, "a1", "b1", "a2", "b2")
			}
		})
	}
}

// A request to cancel a run that was lost is not meant for the next one.
func TestInterruptOfALostRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		lost := open(t, store, &ledger.Options{Owner: "lost"})
		claim := must.Get(lost.Claim(t.Context(), "t", "lost-run"))(t)
		stage := newStage(t, open(t, store, &ledger.Options{Owner: "two"}))
		close(stage.let)
		name := stage.app.Name()
		must.Get(lost.Commit(t.Context(), &ledger.Draft{Thread: "t", Claim: claim, Checkpoint: &posthouse.Change{
			Kind: posthouse.KindInput, Status: posthouse.StatusRunning, Graph: name, Next: []string{"a"},
		}}))(t)
		if err := lost.Close(); err != nil { // its process is gone
			t.Fatal(err)
		}
		out := must.Get(stage.app.Run(t.Context(), "t", trail{Go: "2"}, onBusy(runs.Interrupt)))(t)
		wantList(t, "nodes", out.State.Nodes, "a2", "b2")
		wantList(t, "history", kinds(history(t, stage.app, "t")), "node b", "node a", "input", "cancel", "input")
	})
}

// A run with an id runs once, whoever else comes with it.
func TestRunIDRunsOnce(t *testing.T) {
	l := newLedger(t)
	s := newStage(t, l)
	id := graph.RunOptions{Run: "once"}
	var hs []*graph.Handle[trail]
	for range 8 {
		hs = append(hs, s.start(t, "1", id))
	}
	<-s.runs
	close(s.let)
	for _, h := range hs {
		if r := wantEnd(t, h, runs.Done, posthouse.StatusDone, "a1", "b1"); r.Run != "once" {
			t.Error(r.Run)
		}
	}
	must.Get(s.app.Run(t.Context(), "t", trail{Go: "2"}))(t)
	for _, other := range []trail{{Go: "another"}, {}} {
		_, err := s.app.Run(t.Context(), "t", other, id)
		if e := new(posthouse.Error); !errors.Is(err, posthouse.ErrExists) || !errors.As(err, &e) || e.Field != "Run" || !strings.Contains(e.Message, "field Go") {
			t.Errorf("with the input %+v: %v", other, err)
		}
	}
	out := must.Get(s.app.Run(t.Context(), "t", trail{Go: "1"}, id))(t)
	wantList(t, "what it came to", out.State.Nodes, "a1", "b1")
	if out.Status != posthouse.StatusDone || s.calls.Load() != 2 {
		t.Errorf("%d calls, %+v", s.calls.Load(), out)
	}
	_, names := collect(t, s.app.Stream(t.Context(), "t", trail{Go: "1"}, id))
	wantList(t, "events", names, "end")
}

func TestRunIDOfAnUnfinishedRun(t *testing.T) {
	l := newLedger(t)
	id := graph.RunOptions{Run: "r"}
	calls := 0
	a := compile(t, approval(&calls), l, nil)
	out := must.Get(a.Run(t.Context(), "waits", trail{}, id))(t)
	again := must.Get(a.Run(t.Context(), "waits", trail{}, id))(t)
	if again.Status != posthouse.StatusWaiting || again.Checkpoint != out.Checkpoint || len(again.Waiting) != 1 {
		t.Errorf("waiting: %+v", again)
	}
	decide(t, l, out.Waiting[0].ID, posthouse.Approve)
	must.Get(a.Resume(t.Context(), "waits"))(t) // under another id
	out = must.Get(a.Run(t.Context(), "waits", trail{}, id))(t)
	if out.Status != posthouse.StatusDone {
		t.Errorf("resumed: %+v", out)
	}

	broken, paid := true, 0
	p := compile(t, paying(&broken, &paid), l, nil)
	_, failed := p.Run(t.Context(), "fails", trail{}, id)
	broken = false
	_, err := p.Run(t.Context(), "fails", trail{}, id)
	var one, two *graph.NodeError
	if !errors.As(failed, &one) || !errors.As(err, &two) || one.Checkpoint != two.Checkpoint || !strings.Contains(err.Error(), errBoom.Error()) {
		t.Errorf("first %v, then %v", failed, err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	s := newStage(t, l)
	h := must.Get(s.app.Start(ctx, "lost", trail{Go: "1"}, id))(t)
	<-s.runs
	cancel()
	if _, err := h.Result(); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	close(s.let)
	out = must.Get(s.app.Run(t.Context(), "lost", trail{Go: "1"}, id))(t)
	wantList(t, "continued", out.State.Nodes, "a1", "b1")
}

// In another process the same id is busy, with who has it.
func TestRunIDElsewhere(t *testing.T) {
	store := memstore.New()
	one := newStage(t, open(t, store, &ledger.Options{Owner: "one"}))
	two := newStage(t, open(t, store, &ledger.Options{Owner: "two"}))
	h := one.start(t, "1", graph.RunOptions{Run: "r"})
	<-one.runs
	for _, b := range []runs.OnBusy{runs.Reject, runs.Enqueue, runs.Interrupt} {
		_, err := two.app.Run(t.Context(), "t", trail{}, graph.RunOptions{Run: "r", OnBusy: b})
		var e *posthouse.Error
		if !errors.Is(err, posthouse.ErrBusy) || !errors.As(err, &e) || e.Lease == nil || e.Lease.Owner != "one" {
			t.Error(b, err)
		}
	}
	close(one.let)
	wantEnd(t, h, runs.Done, posthouse.StatusDone, "a1", "b1")
}

func TestOnBusyIsChecked(t *testing.T) {
	a := compile(t, line("a"), newLedger(t), nil)
	if _, err := a.Run(t.Context(), "t", trail{}, onBusy(99)); !errors.Is(err, posthouse.ErrInvalid) {
		t.Error(err)
	}
	if _, err := a.ResumeStart(t.Context(), "t", onBusy(runs.Rollback)); !errors.Is(err, posthouse.ErrInvalid) {
		t.Error(err)
	}
}

// Whatever comes at once on a thread: one run at a time, each input on record
// at most once, every run with an end, and the thread free afterwards.
func TestRunsAtOnce(t *testing.T) {
	for seed := range uint64(30) {
		l := newLedger(t)
		rnd := rand.New(rand.NewPCG(seed, 1))
		var running atomic.Int32
		g := graph.New[trail]("busy")
		for _, n := range []string{"a", "b"} {
			g.Node(n, func(ctx context.Context, s *trail) error {
				if running.Add(1) != 1 {
					t.Error("two at once")
				}
				defer running.Add(-1)
				s.Nodes = append(s.Nodes, n+s.Go)
				return ctx.Err()
			})
		}
		g.Edge(graph.Start, "a")
		g.Edge("a", "b")
		g.Edge("b", graph.End)
		app := compile(t, g, l, nil)
		var all sync.WaitGroup
		for i := range 12 {
			o, in := onBusy(runs.OnBusy(rnd.IntN(4))), trail{Go: fmt.Sprint(i)}
			if rnd.IntN(3) == 0 {
				o.Run = fmt.Sprint("id-", rnd.IntN(2))
				in.Go = o.Run // whoever sends it again sends the same
			}
			cancel := rnd.IntN(4) == 0
			all.Go(func() {
				h, err := app.Start(t.Context(), "t", in, o)
				if err == nil && cancel {
					err = h.Cancel(t.Context(), "")
				}
				if err == nil {
					_, err = h.Result()
				}
				if err != nil && !errors.Is(err, posthouse.ErrBusy) && !errors.Is(err, posthouse.ErrCancelled) {
					t.Errorf("seed %d, run %d: %v", seed, i, err)
				}
			})
		}
		all.Wait()
		ids := map[string]int{}
		for _, c := range history(t, app, "t") {
			if c.Kind == posthouse.KindInput && strings.HasPrefix(c.Run, "id-") {
				ids[c.Run]++
			}
			nodes := slices.Clone(c.State.Nodes)
			slices.Sort(nodes)
			if len(slices.Compact(nodes)) != len(c.State.Nodes) {
				t.Errorf("seed %d: a node ran twice: %q", seed, c.State.Nodes)
			}
		}
		for id, n := range ids {
			if n > 1 {
				t.Errorf("seed %d: run %s began %d times", seed, id, n)
			}
		}
		if info, err := l.Thread(t.Context(), "t"); err == nil && (info.Lease.Held || info.Runnable()) {
			t.Errorf("seed %d: left behind %+v", seed, info)
		}
	}
}

// A replay that finds its thread busy leaves nothing; one that may wait for the
// other run does.
func TestReplayOfABusyThread(t *testing.T) {
	l := newLedger(t)
	began, free := make(chan struct{}, 2), make(chan struct{})
	g := graph.New[trail]("busy")
	g.Node("a", func(ctx context.Context, s *trail) error { began <- struct{}{}; <-free; return visit("a")(ctx, s) })
	g.Edge(graph.Start, "a")
	g.Edge("a", graph.End)
	a := compile(t, g, l, nil)
	h := must.Get(a.Start(t.Context(), "t", trail{}))(t)
	<-began
	first := must.Get(a.State(t.Context(), "t"))(t)
	for _, branch := range []string{"", "mine"} {
		_, err := a.Replay(t.Context(), first.ID, graph.RunOptions{Branch: branch})
		must.Fail(t, err, posthouse.ErrBusy)
	}
	if info := must.Get(l.Thread(t.Context(), "t"))(t); len(info.Branches) != 1 {
		t.Errorf("branches %+v", info.Branches)
	}
	replayed := make(chan *graph.Result[trail])
	go func() {
		out, err := a.Replay(t.Context(), first.ID, graph.RunOptions{OnBusy: runs.Enqueue})
		if err != nil {
			t.Error(err)
		}
		replayed <- out
	}()
	close(free)
	must.Get(h.Result())(t)
	if out := <-replayed; out != nil {
		wantList(t, "nodes", out.State.Nodes, "a")
		if out.Branch != "fork-1" || out.Status != posthouse.StatusDone {
			t.Errorf("output %+v", out)
		}
	}
	_, err := a.Replay(t.Context(), first.ID, graph.RunOptions{Branch: posthouse.MainBranch})
	must.Fail(t, err, posthouse.ErrExists)
}

// An input that is not on record is not compared: of runs from earlier versions,
// and of runs without a chosen id.
func TestRunIDWhoseInputIsNotOnRecord(t *testing.T) {
	l := newLedger(t)
	a := compile(t, line("a"), l, nil)
	must.Get(a.Run(t.Context(), "t", trail{Go: "1"}, graph.RunOptions{Run: "mine"}))(t)
	free := must.Get(a.Run(t.Context(), "t", trail{Go: "2"}))(t)
	c := must.Get(l.Get(t.Context(), free.Checkpoint))(t)
	if _, ok := c.Program["$input"]; ok {
		t.Error("what an earlier run began with is kept")
	}
	out := must.Get(a.Run(t.Context(), "t", trail{Go: "3"}, graph.RunOptions{Run: free.Run}))(t)
	if out.Checkpoint != free.Checkpoint {
		t.Errorf("it ran again: %+v", out)
	}
}
