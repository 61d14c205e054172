package dispatch_test

import (
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/task"
	"github.com/posthouse/posthouse/task/hint"
	"github.com/posthouse/posthouse/task/natshint"
	"github.com/posthouse/posthouse/worker"
)

// gates returns the open gates of tasks.
func (h *hinted) gates(e *engine) (all []*posthouse.Gate) {
	h.Helper()
	for g, err := range e.l.Gates(h.Context(), ledger.GateQuery{Kind: posthouse.GateTask}) {
		if err != nil {
			h.Fatal(err)
		}
		all = append(all, g)
	}
	return all
}

// client returns a queue that is no engine's.
func (h *hinted) client() *natshint.Queue {
	h.Helper()
	q, err := natshint.New(h.connect(), nil)
	if err != nil {
		h.Fatal(err)
	}
	if err := q.Open(h.Context()); err != nil {
		h.Fatal(err)
	}
	return q
}

// TestHintsAreNotTrusted: hints that are doubled, late, out of order, about other tasks'
// gates or about no gate, change nothing. Wrong hints go to the dead letters.
func TestHintsAreNotTrusted(t *testing.T) {
	h := newHinted(t, nil)
	e := h.engine(h.queue(), nil, runs.RemoteOptions{})
	h.stream()
	q := h.client()
	h.begin(e, 0, 20)
	open := h.gates(e)
	var all []hint.Hint
	for i := range open { // the last first, at another place of the stream
		g := open[len(open)-1-i]
		all = append(all, hint.Hint{Gate: g.ID, Thread: "other", Task: "double"})
	}
	h.messages(20)
	if err := h.stream().Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	all = append(all, hint.Hint{Gate: "gate-nobody-has", Thread: "t", Task: "double"})
	wrong := hint.Hint{Gate: open[3].ID, Thread: "t3", Task: "double", Group: "gpu"} // the gate has no group
	if err := q.Publish(t.Context(), true, wrong); err != nil {
		t.Fatal(err)
	}
	h.worker(e.d, worker.Options{Name: "a", Group: "gpu", Concurrency: 2}, nil)
	h.messages(0) // what is told of a task that has its own hint is not looked at
	for range 3 {
		if err := q.Publish(t.Context(), true, all...); err != nil {
			t.Fatal(err)
		}
	}
	conn := h.connect()
	if m, err := conn.Request("posthouse.hint.double.=."+string(open[0].ID)+"x", []byte("{"), time.Minute); err != nil || strings.Contains(string(m.Data), "error") {
		t.Fatalf("m.Data %s, error %v", m.Data, err)
	}
	h.done(e, 0, 20)
	if err := q.Publish(t.Context(), true, all...); err != nil { // late
		t.Fatal(err)
	}
	h.messages(0)
	h.done(e, 0, 20)
	letters, err := q.Letters(t.Context(), 10)
	if err != nil || len(letters) != 2 {
		t.Errorf("Letters: %+v, error %v", letters, err)
	}
	for _, l := range letters {
		if l.Reason == "" || !strings.HasPrefix(l.Subject, "posthouse.hint.double.") {
			t.Errorf("letter: %+v", l)
		}
	}
}

// TestDelayedTasksArePublishedWhenReady, and not before.
func TestDelayedTasksArePublishedWhenReady(t *testing.T) {
	h := newHinted(t, nil)
	const delay = 1500 * time.Millisecond
	a := h.engine(h.queue(), nil, runs.RemoteOptions{Start: delay})
	b := h.engine(h.queue(), nil, runs.RemoteOptions{Start: delay})
	h.messages(0)
	h.worker(b.d, worker.Options{Name: "b", Concurrency: 4}, nil)
	start := time.Since(time.Unix(0, 0))
	h.begin(a, 0, 4)
	if i, err := h.stream().Info(t.Context()); err != nil || i.State.Msgs != 0 && time.Since(time.Unix(0, 0))-start < delay {
		t.Errorf("Info: %+v, error %v", i, err)
	}
	h.done(b, 0, 4)
	if took := time.Since(time.Unix(0, 0)) - start; took < delay {
		t.Errorf("they were handled after %s", took)
	}
	h.messages(0)
}

// TestEngineIsLostWithAHint that it was given: another engine is told when the lease is over.
func TestEngineIsLostWithAHint(t *testing.T) {
	h := newHinted(t, nil)
	h.lease = time.Second
	a := h.engine(h.queue(), nil, runs.RemoteOptions{})
	h.stream()
	q := h.client()
	h.begin(a, 0, 1)
	taken := make(chan struct{})
	err := q.Take(t.Context(), hint.Demand{Task: "double", N: 1, Wait: time.Minute, Lease: h.lease}, func(hint.Delivery) { close(taken) })
	if err != nil {
		t.Fatal(err)
	}
	<-taken // by an engine that is lost then
	h.worker(a.d, worker.Options{Name: "a"}, nil)
	h.done(a, 0, 1)
	h.messages(0)
}

// TestLimitOfAllEngines: not more tasks of a name are at work than Concurrency says, at all engines.
func TestLimitOfAllEngines(t *testing.T) {
	h := newHinted(t, nil)
	h.lease = 30 * time.Second
	limit := map[string]int{"double": 2}
	p, q := h.queue(), h.queue()
	a, b := h.engine(p, limit, runs.RemoteOptions{}), h.engine(q, limit, runs.RemoteOptions{})
	at := func(int) { <-time.After(20 * time.Millisecond) }
	h.worker(a.d, worker.Options{Name: "a", Concurrency: 5}, at)
	h.worker(b.d, worker.Options{Name: "b", Concurrency: 5}, at)
	<-p.used
	<-q.used
	const n = 30
	h.begin(a, 0, n)
	h.done(a, 0, n)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.most > 2 {
		t.Errorf("%d handlers were at work", h.most)
	}
}

// TestWorkerOfAHintIsLost: the next attempt is told of as a task of its own.
func TestWorkerOfAHintIsLost(t *testing.T) {
	h := newHinted(t, nil)
	h.lease = time.Second
	a, b := h.engine(h.queue(), nil, runs.RemoteOptions{Limits: posthouse.TaskLimits{RetryPolicy: posthouse.RetryPolicy{MaxAttempts: 2}}}), h.engine(h.queue(), nil, runs.RemoteOptions{})
	h.stream()
	s, err := a.d.Connect(t.Context(), task.Hello{Protocol: task.Protocol, Worker: "lost", Tasks: []string{"double"}, Concurrency: 1})
	if err != nil {
		t.Fatal(err)
	}
	h.begin(a, 0, 1)
	if c, err := a.d.Claim(t.Context(), s.ID); err != nil || c == nil || c.Attempt != 1 {
		t.Fatalf("Claim: %+v, error %v", c, err)
	}
	h.worker(b.d, worker.Options{Name: "b"}, nil)
	h.done(b, 0, 1)
	h.messages(0)
}

// TestGaugesCountPublishedTasks as of the last look at all tasks.
func TestGaugesCountPublishedTasks(t *testing.T) {
	h := newHinted(t, nil)
	e := h.engine(h.queue(), nil, runs.RemoteOptions{Group: "gpu"})
	h.stream()
	h.begin(e, 0, 3)
	h.messages(3)
	for deadline := time.After(time.Minute); ; {
		q := e.d.Gauges().Queues
		if len(q) == 1 && q[0].Ready == 3 && q[0].Group == "gpu" && q[0].Oldest > 0 {
			return
		}
		select {
		case <-deadline:
			t.Fatalf("gauge: %+v", q)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
