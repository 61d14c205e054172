package dispatch_test

import (
	"context"
	"fmt"
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
// question is a round trip where the store is on another host. A graph asks as often whatever
// it has done; a flow once more for each eight times as many steps.
func TestReadsBetweenSteps(t *testing.T) {
	for _, c := range []struct {
		program string
		steps   int
		most    int64
	}{{"graph", 10, 10}, {"graph", 60, 10}, {"flow", 10, 12}, {"flow", 60, 13}, {"flow", 200, 13}} {
		t.Run(fmt.Sprintf("%s/%d", c.program, c.steps), func(t *testing.T) {
			store := &readMeter{Store: memstore.New()}
			h := newHouse(t, store)
			run := h.run
			if c.program == "graph" {
				run = h.runGraph
			}
			var at []int64
			h.workers(1, func(_ worker.Task, i int) (int, error) {
				at = append(at, store.reads.Load())
				return i, nil
			})
			run("run", c.steps)
			var between []int64
			for i := len(at) * 2 / 3; i+1 < len(at); i++ {
				between = append(between, at[i+1]-at[i])
			}
			slices.Sort(between)
			t.Logf("reads between steps: %v", between)
			if median := between[len(between)/2]; median > c.most {
				t.Errorf("the store is asked %d times between two steps, want at most %d", median, c.most)
			}
		})
	}
}
