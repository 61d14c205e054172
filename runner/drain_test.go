package runner_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/runner"
	"github.com/posthouse/posthouse/store/memstore"
)

// busy starts a runner over threads with nodes that take as long as take says.
func busy(t *testing.T, take func(ctx context.Context)) (p *program, stop func() error) {
	t.Helper()
	l := open(t, memstore.New(), "a")
	p = &program{name: "p", l: l, last: 3, node: func(ctx context.Context, _ string, _ int) error {
		take(ctx)
		return ctx.Err()
	}}
	for _, thread := range []string{"t1", "t2", "t3"} {
		p.start(t, thread)
	}
	r, err := runner.New(l, &runner.Options{Programs: []posthouse.Program{p}, Concurrency: 2})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	waitIdle()
	return p, func() error {
		cancel()
		return <-done
	}
}

// Nodes that run may finish; no further one begins; the leases are given back.
func TestDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, stop := busy(t, func(context.Context) { <-time.After(5 * time.Second) })
		sleep(time.Second)
		began := time.Now()
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(began); d != 4*time.Second {
			t.Fatal("drained in", d)
		}
		ran := 0
		for info, err := range p.l.Threads(t.Context(), posthouse.ThreadQuery{}) {
			if err != nil {
				t.Fatal(err)
			}
			h, err := p.l.GetHeader(t.Context(), info.Branches[0].Head)
			if err != nil {
				t.Fatal(err)
			}
			if h.Step == 1 && h.Status == posthouse.StatusRunning {
				ran++
			}
			if info.Lease.Held {
				t.Errorf("%s is still leased", info.Thread)
			}
		}
		if ran != 2 || p.count("t3") != 0 {
			t.Fatalf("%d nodes finished, the third thread was advanced %d times", ran, p.count("t3"))
		}
		// Another process goes on at once.
		q := &program{name: "p", l: open(t, p.l.Store(), "b"), last: 3, node: func(context.Context, string, int) error { return nil }}
		run(t, q.l, runner.Options{Programs: []posthouse.Program{q}})
		waitIdle()
		if s := status(t, q.l, "t1"); s != posthouse.StatusDone {
			t.Fatal(s)
		}
	})
}

// A node that takes too long has its context ended; nothing of it is recorded.
func TestDrainLosesPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, stop := busy(t, func(ctx context.Context) { <-ctx.Done() })
		began := time.Now()
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(began); d != 10*time.Second {
			t.Fatal("drained in", d)
		}
		if s := status(t, p.l, "t1"); s != posthouse.StatusRunning {
			t.Fatal(s)
		}
	})
}

func TestDrainGivesUpOnTheStubborn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		_, stop := busy(t, func(context.Context) { <-hang })
		err := stop()
		if err == nil || !strings.Contains(err.Error(), "2 threads did not stop") {
			t.Fatal(err)
		}
		close(hang)
		waitIdle()
	})
}

// Liveness is renewed while the runner drains: a node that finishes in time
// must not find its thread taken.
func TestBeatsWhileDraining(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, stop := busy(t, func(context.Context) { <-time.After(9 * time.Second) })
		key := posthouse.SlotKey{Thread: posthouse.ProcessThread, Step: "a"}
		sleep(1500 * time.Millisecond)
		stopped := make(chan error, 1)
		go func() { stopped <- stop() }()
		waitIdle()
		first, err := p.l.Store().Slot(t.Context(), key, posthouse.SlotOp{})
		if err != nil {
			t.Fatal(err)
		}
		sleep(5 * time.Second)
		then, err := p.l.Store().Slot(t.Context(), key, posthouse.SlotOp{})
		if err != nil || then.Revision != first.Revision+10 {
			t.Fatalf("first.Revision %v, then.Revision %v, error %v", first.Revision, then.Revision, err)
		}
		if err := <-stopped; err != nil {
			t.Fatal(err)
		}
	})
}

// A decision made while the runner was down, or while it moved the thread, is not
// lost.
func TestDecisionWhileRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := open(t, memstore.New(), "")
		first := true
		ask := asking(posthouse.Gate{Name: "a"}, posthouse.Gate{Name: "b"})
		p := &program{name: "p", l: l, last: 2}
		p.node = func(ctx context.Context, thread string, n int) error {
			err := ask(ctx, thread, n)
			if !first && n == 1 {
				<-time.After(3 * time.Second) // the second decision comes in here
			}
			first = false
			return err
		}
		p.start(t, "t")
		r, _ := run(t, l, runner.Options{Programs: []posthouse.Program{p}, NoWatch: true})
		waitIdle()
		ids := gates(t, l, "t")
		approve(t, l, ids[0])
		r.Kick("t")
		sleep(time.Second)
		g := approve(t, l, ids[1])
		h, err := r.Wait(t.Context(), "t", "", g.Decision.Seq)
		if err != nil || h.Status != posthouse.StatusDone {
			t.Fatal(h, err)
		}
	})
}

func TestWaitEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := open(t, memstore.New(), "")
		p := &program{name: "p", l: l, last: 1, node: func(context.Context, string, int) error {
			<-time.After(time.Hour)
			return nil
		}}
		p.start(t, "t")
		r, _ := run(t, l, runner.Options{Programs: []posthouse.Program{p}})
		gone := errors.New("the caller has left")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, gone)
		defer cancel()
		if _, err := r.Wait(ctx, "t", "", 0); !errors.Is(err, gone) {
			t.Fatal(err)
		}
		h, err := r.Wait(t.Context(), "t", "", 0)
		if err != nil || h.Status != posthouse.StatusDone {
			t.Fatal(h, err)
		}
	})
}
