package dispatch_test

import (
	"context"
	"iter"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/worker"
)

// A readMeter counts the calls of a store that only read.
type readMeter struct {
	*memstore.Store
	reads atomic.Int64
}

func (m *readMeter) Read(ctx context.Context, thread string, r posthouse.Range) iter.Seq2[*posthouse.Entry, error] {
	m.reads.Add(1)
	return m.Store.Read(ctx, thread, r)
}

func (m *readMeter) Find(ctx context.Context, id posthouse.ID) (posthouse.Ref, error) {
	m.reads.Add(1)
	return m.Store.Find(ctx, id)
}

func (m *readMeter) Threads(ctx context.Context, q posthouse.ThreadQuery) iter.Seq2[*posthouse.ThreadInfo, error] {
	m.reads.Add(1)
	return m.Store.Threads(ctx, q)
}

func (m *readMeter) Slot(ctx context.Context, key posthouse.SlotKey, op posthouse.SlotOp) (posthouse.Slot, error) {
	if op.Verb == posthouse.SlotGet {
		m.reads.Add(1)
	}
	return m.Store.Slot(ctx, key, op)
}

// TestReadsBetweenSteps bounds how often the store is asked between two tasks of a run. Each
// question is a round trip where the store is on another host, and a run with many steps asks
// no more often than one with few.
func TestReadsBetweenSteps(t *testing.T) {
	for _, program := range []string{"graph", "flow"} {
		t.Run(program, func(t *testing.T) {
			store := &readMeter{Store: memstore.New()}
			h := newHouse(t, store)
			run := h.run
			if program == "graph" {
				run = h.runGraph
			}
			var at []int64
			h.workers(1, func(_ worker.Task, i int) (int, error) {
				at = append(at, store.reads.Load())
				return i, nil
			})
			run("run", 60)
			var between []int64
			for i := 40; i+1 < len(at); i++ {
				between = append(between, at[i+1]-at[i])
			}
			slices.Sort(between)
			t.Logf("reads between steps: %v", between)
			if median, want := between[len(between)/2], int64(13); median > want {
				t.Errorf("the store is asked %d times between two steps, want at most %d", median, want)
			}
		})
	}
}
