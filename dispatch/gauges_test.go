package dispatch_test

import (
	"context"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/dispatch"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/task"
)

func TestGauges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		h := newHost(t, store, runs.RemoteOptions{Limits: posthouse.TaskLimits{RetryPolicy: posthouse.RetryPolicy{MaxAttempts: 2, InitialDelay: time.Hour}}})
		other := newHost(t, store, runs.RemoteOptions{})
		want := func(d *dispatch.Dispatcher, want task.Gauges) {
			t.Helper()
			synctest.Wait()
			if have := d.Gauges(); !reflect.DeepEqual(have, want) {
				t.Errorf("%+v, want %+v", have, want)
			}
		}
		want(h.d, task.Gauges{Queues: []task.QueueGauge{}})

		for _, thread := range []string{"a", "b", "c", "d"} {
			h.run(thread)
		}
		time.Sleep(time.Second)
		w := h.connect("w1")
		go beat(t.Context(), h.d, w)
		want(h.d, task.Gauges{Queues: []task.QueueGauge{{Task: "fetch", Ready: 4, Oldest: time.Second, Workers: 1}}, Sessions: 1})

		h.resolve(h.claim(w), task.Verdict{Action: task.Fail, Reason: "x"})
		h.resolve(h.claim(w), task.Verdict{Action: task.Pause, Name: "x", Delay: time.Hour})
		h.resolve(h.claim(w), task.Verdict{Action: task.FailPermanent, Reason: "x"})
		h.claim(w)
		have := task.QueueGauge{Task: "fetch", Delayed: 1, Paused: 1, Claimed: 1, Workers: 1}
		want(h.d, task.Gauges{Queues: []task.QueueGauge{have}, Sessions: 1, Retries: 1, Failed: 1})

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		if c, _ := other.d.Claim(ctx, other.connect("w2")); c != nil { // it looks, and finds that w1 has it
			t.Errorf("claim: %+v", c)
		}
		cancel()
		want(other.d, task.Gauges{Queues: []task.QueueGauge{have}, Sessions: 1})
		time.Sleep(5 * time.Second)
		have.Workers = 0 // until it looks at all that is in the store
		want(other.d, task.Gauges{Queues: []task.QueueGauge{have}, Silent: 1})
	})
}

func BenchmarkGauges(b *testing.B) {
	h := newHouse(b, memstore.New())
	for i := range 10_000 {
		if _, err := h.flow.Run(b.Context(), string(h.led.Core().NewID()), i+1); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		h.d.Gauges()
	}
}
