package dispatch_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/task"
)

func (h *host) workers() []task.WorkerInfo {
	h.Helper()
	ws, err := h.d.Workers(h.Context())
	if err != nil {
		h.Fatal(err)
	}
	return ws
}

// TestWorkersOfAllEngines: each engine lists the workers of all, and says which are silent. A
// worker that died with its engine is removed in the end; one that moves to another engine
// stays listed.
func TestWorkersOfAllEngines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		a := newHostWith(t, store, &ledger.Options{Owner: "a"}, runs.RemoteOptions{})
		b := newHostWith(t, store, &ledger.Options{Owner: "b"}, runs.RemoteOptions{})
		lease := a.l.Core().Config.LeaseTTL
		time.Sleep(lease) // after the first poll: its list of workers counts for a while
		w1, w2, w3 := a.connect("w1"), b.connect("w2"), b.connect("w3")
		keep := func(d time.Duration, moved bool) { // w1 and, once it has moved, w2 are alive at a
			for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(lease / 3) {
				a.heartbeat(w1)
				if moved {
					a.heartbeat(w2)
				}
			}
		}
		fresh := a.l.Core().Config.RenewEvery()
		time.Sleep(fresh)
		ws := a.workers()
		if len(ws) != 3 || ws[0].Session != w1 || !ws[0].Here || ws[0].Engine != "a" || ws[0].Claims == nil || ws[0].Silent {
			t.Fatalf("workers: %+v", ws)
		}
		if w := ws[1]; w.Session != w2 || w.Here || w.Engine != "b" || w.Claims != nil || w.Silent || !w.Heard.Equal(time.Now().Add(-fresh)) || w.Concurrency != 1 || len(w.Tasks) != 1 {
			t.Errorf("worker: %+v", w)
		}
		b.stop()
		keep(2*lease, false)
		ws = a.workers()
		if len(ws) != 3 || ws[0].Silent || !ws[1].Silent || !ws[2].Silent {
			t.Errorf("behind the death of an engine: %+v", ws)
		}
		keep(lease, true)
		ws = a.workers()
		if len(ws) != 3 || !ws[1].Here || ws[1].Silent || ws[1].Engine != "a" || !ws[2].Silent {
			t.Errorf("behind a move: %+v", ws)
		}
		keep(5*time.Minute, true)
		ws = a.workers()
		if len(ws) != 2 {
			t.Errorf("behind a long time: %+v", ws)
		}
		_, err := store.Slot(t.Context(), posthouse.SlotKey{Thread: posthouse.ProcessThread, Step: w3}, posthouse.SlotOp{Verb: posthouse.SlotGet})
		if !errors.Is(err, posthouse.ErrNotFound) {
			t.Errorf("its slot stays: %v", err)
		}
	})
}

// TestTasksWithoutWorkersWait, and say so, until there is a worker for their name and group at any
// engine.
func TestTasksWithoutWorkersWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		store := memstore.New()
		a := newHostWith(t, store, &ledger.Options{Owner: "a"}, runs.RemoteOptions{Group: "gpu"})
		b := newHostWith(t, store, &ledger.Options{Owner: "b"}, runs.RemoteOptions{})
		a.run("t")
		want := func(n int) {
			t.Helper()
			time.Sleep(2 * time.Minute) // after a full poll
			if i := a.only(); i.Handlers != n || i.State != task.Ready {
				t.Errorf("%d workers handle it, not %d; it is %s", i.Handlers, n, i.State)
			}
			if g := a.d.Gauges(); len(g.Queues) != 1 || g.Queues[0].Workers != n || g.Queues[0].Ready != 1 {
				t.Errorf("gauges: %+v", g)
			}
		}
		connect := func(h *host, group, name string) {
			s, err := h.d.Connect(t.Context(), task.Hello{Protocol: task.Protocol, Worker: "w", Group: group, Tasks: []string{name}, Concurrency: 1})
			if err != nil {
				t.Fatal(err)
			}
			go beat(ctx, h.d, s.ID)
		}
		want(0)
		connect(a, "gpu", "fetsch")
		connect(a, "", "fetch")
		connect(b, "other", "fetch")
		want(0)
		connect(b, "gpu", "fetch")
		want(1)
		connect(a, "gpu", "fetch")
		want(2)
		if i := b.only(); i.Handlers != 2 {
			t.Errorf("task: %+v", i)
		}
	})
}
