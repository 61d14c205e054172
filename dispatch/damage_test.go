package dispatch_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/dispatch"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/task"
)

// A moth is a store in which the slots of one thread are damaged, once it has hatched.
type moth struct {
	posthouse.Store
	thread  string
	hatched atomic.Bool
}

func (m *moth) Slot(ctx context.Context, key posthouse.SlotKey, op posthouse.SlotOp) (posthouse.Slot, error) {
	s, err := m.Store.Slot(ctx, key, op)
	if err == nil && m.hatched.Load() && key.Thread == m.thread && op.Verb == posthouse.SlotGet {
		s.Value = bytes.Repeat([]byte("z"), 20)
	}
	return s, err
}

// A diary keeps what is logged.
type diary struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (d *diary) Write(b []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.text.Write(b)
}

func (d *diary) has(text string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return bytes.Contains(d.text.Bytes(), []byte(text))
}

// TestADamagedSlotCostsItsOwnClaim and no other: the worker's heartbeats at an engine that asks
// the store about its claims are answered.
func TestADamagedSlotCostsItsOwnClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		a := newHost(t, store, runs.RemoteOptions{})
		a.run("damaged")
		a.run("good")
		w := a.connectFor("w1", 2)
		claims := map[string]*task.Claim{}
		for range 2 {
			c := a.claim(w)
			claims[c.Thread] = c
		}
		damaged := &moth{Store: store, thread: "damaged"}
		damaged.hatched.Store(true)
		l, err := ledger.Open(damaged, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		var said diary
		b, err := dispatch.New(l, &dispatch.Options{Logger: slog.New(slog.NewTextHandler(&said, nil))})
		if err != nil {
			t.Fatal(err)
		}
		for range 10 {
			p, err := b.Heartbeat(t.Context(), w, a.have[w])
			if err != nil || len(p.Lost) != 1 || p.Lost[0] != claims["damaged"].ID {
				t.Fatalf("Heartbeat: %+v, error %v", p, err)
			}
			time.Sleep(time.Second)
		}
		if !said.has("level=WARN") || !said.has(string(claims["damaged"].ID.Gate)) {
			t.Errorf("the log says %s", &said.text)
		}
		if err := b.Resolve(t.Context(), claims["good"].ID, task.Verdict{Action: task.Complete, Output: json.RawMessage(`"page"`)}); err != nil {
			t.Error(err)
		}
		a.wantOutput("good", "page")
	})
}

// TestAnOrphanWithADamagedSlot fails no heartbeat of its worker.
func TestAnOrphanWithADamagedSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &moth{Store: memstore.New(), thread: "t"}
		h := newHost(t, store, runs.RemoteOptions{})
		h.run("t")
		w := h.connect("w1")
		h.claim(w)
		h.have[w] = nil // its answer was lost
		store.hatched.Store(true)
		for range 10 {
			time.Sleep(time.Second)
			h.heartbeat(w)
		}
	})
}

// A damaging is a store in which one slot of processes is damaged, until it is written again.
type damaging struct {
	posthouse.Store
	step atomic.Value // a string
}

func (s *damaging) Slot(ctx context.Context, key posthouse.SlotKey, op posthouse.SlotOp) (posthouse.Slot, error) {
	step, _ := s.step.Load().(string)
	damaged := key.Thread == posthouse.ProcessThread && key.Step == step
	if damaged && op.Verb == posthouse.SlotGet {
		return posthouse.Slot{}, &posthouse.Error{Code: posthouse.CodeCorrupt, Message: "the slot is damaged"}
	}
	slot, err := s.Store.Slot(ctx, key, op)
	if damaged && err == nil {
		s.step.Store("")
	}
	return slot, err
}

// TestADamagedLiveness says nothing of a worker: its tasks go to others once it is silent, and
// not while it lives.
func TestADamagedLiveness(t *testing.T) {
	for name, alive := range map[string]bool{"dead": false, "alive": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &damaging{Store: memstore.New()}
				a, b := newHost(t, store, runs.RemoteOptions{}), newHost(t, store, runs.RemoteOptions{})
				w := a.connect("w1")
				a.run("t")
				first := a.claim(w)
				store.step.Store(w)
				if alive {
					go beat(t.Context(), a.d, w, first.ID)
				} else {
					a.stop()
				}
				other := b.connect("w2")
				for range 60 {
					ctx, cancel := context.WithTimeout(t.Context(), time.Second)
					c, err := b.d.Claim(ctx, other)
					cancel()
					switch {
					case c != nil && alive:
						t.Fatalf("another worker has the task: %+v", c)
					case c != nil:
						if c.Attempt != 2 {
							t.Errorf("claim: %+v", c)
						}
						return
					case err != nil && !errors.Is(err, context.DeadlineExceeded):
						t.Fatal(err)
					}
					b.heartbeat(other)
				}
				if !alive {
					t.Error("no worker has the task of the one that died")
				}
			})
		})
	}
}
