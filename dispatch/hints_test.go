package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/dispatch"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runner"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/task"
	"github.com/posthouse/posthouse/task/hint"
	"github.com/posthouse/posthouse/task/natshint"
	"github.com/posthouse/posthouse/worker"
)

// A hinted is engines over one store and NATS, and what their workers handled.
type hinted struct {
	*testing.T
	store   posthouse.Store
	options server.Options
	server  *server.Server
	js      jetstream.JetStream
	lease   time.Duration

	mu      sync.Mutex
	told    map[posthouse.ID]int // how often engines were told of a gate
	handled map[int]int          // how often the input was handled
	busy    int                  // handlers that are at work, at all engines
	most    int                  // of them at once
}

func newHinted(t *testing.T, with func(*server.Options)) *hinted {
	t.Helper()
	h := &hinted{T: t, store: memstore.New(), lease: 3 * time.Second, told: map[posthouse.ID]int{}, handled: map[int]int{}}
	h.options = server.Options{ServerName: "test", Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true, JetStream: true, StoreDir: t.TempDir()}
	if with != nil {
		with(&h.options)
	}
	h.startNATS()
	t.Cleanup(h.stopNATS)
	return h
}

func (h *hinted) startNATS() {
	h.Helper()
	o := h.options
	s, err := server.NewServer(&o)
	if err != nil {
		h.Fatal(err)
	}
	s.Start()
	if !s.ReadyForConnections(30 * time.Second) {
		h.Fatal("the server does not start")
	}
	h.server, h.options.Port = s, o.Port
}

func (h *hinted) stopNATS() {
	h.server.Shutdown()
	h.server.WaitForShutdown()
}

// connect returns a connection that is made again when it is lost.
func (h *hinted) connect() *nats.Conn {
	h.Helper()
	c, err := nats.Connect(fmt.Sprintf("nats://127.0.0.1:%d", h.options.Port), nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond), nats.ReconnectBufSize(-1))
	if err != nil {
		h.Fatal(err)
	}
	h.Cleanup(c.Close)
	return c
}

// queue returns a queue for one engine, which notes what it gives.
func (h *hinted) queue() *noted {
	h.Helper()
	q, err := natshint.New(h.connect(), nil)
	if err != nil {
		h.Fatal(err)
	}
	n := &noted{Queue: q, h: h, used: make(chan struct{})}
	n.use = sync.OnceFunc(func() { close(n.used) })
	return n
}

// A noted is a queue that notes what it gives.
type noted struct {
	hint.Queue
	h    *hinted
	use  func()
	used chan struct{} // closed once it is asked for hints
}

func (n *noted) Take(ctx context.Context, d hint.Demand, fn func(hint.Delivery)) error {
	n.use()
	return n.Queue.Take(ctx, d, func(x hint.Delivery) {
		n.h.mu.Lock()
		n.h.told[x.Hint().Gate]++
		n.h.mu.Unlock()
		fn(x)
	})
}

// An engine has a program with a step that is a task, and a worker in its process.
type engine struct {
	l   *ledger.Ledger
	app *flow.App[int, int]
	d   *dispatch.Dispatcher
}

// engine starts an engine. Without a queue it is one of before.
func (h *hinted) engine(q hint.Queue, atOnce map[string]int, step runs.RemoteOptions) *engine {
	h.Helper()
	l, err := ledger.Open(h.store, &ledger.Options{LeaseTTL: h.lease})
	if err != nil {
		h.Fatal(err)
	}
	e := &engine{l: l}
	e.app, err = flow.New("f", remote(step)).Open(l, nil)
	if err != nil {
		h.Fatal(err)
	}
	// All tasks are looked at each 1.2 s.
	e.d, err = dispatch.New(l, &dispatch.Options{Poll: 20 * time.Millisecond, Hints: q, Concurrency: atOnce})
	if err != nil {
		h.Fatal(err)
	}
	r, err := runner.New(l, &runner.Options{Programs: []posthouse.Program{e.app}})
	if err != nil {
		h.Fatal(err)
	}
	h.runs(e.d.Run, r.Run)
	return e
}

func remote(o runs.RemoteOptions) func(context.Context, int) (int, error) {
	return func(ctx context.Context, in int) (int, error) {
		return step.RemoteWith[int](ctx, "double", "double", in, o)
	}
}

func (h *hinted) runs(fns ...func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(h.Context())
	ended := make(chan error, len(fns))
	for _, fn := range fns {
		go func() { ended <- fn(ctx) }()
	}
	stop = sync.OnceFunc(func() {
		cancel()
		for range fns {
			if err := <-ended; err != nil {
				h.Error(err)
			}
		}
	})
	h.Cleanup(stop)
	return stop
}

// worker starts a worker of an engine. Before, if given, is called in each execution.
func (h *hinted) worker(e task.Engine, o worker.Options, before func(n int)) {
	h.Helper()
	w, err := worker.New(e, &o)
	if err != nil {
		h.Fatal(err)
	}
	worker.Handle(w, "double", func(_ worker.Task, in int) (int, error) {
		h.mu.Lock()
		h.handled[in]++
		n := len(h.handled)
		h.busy++
		h.most = max(h.most, h.busy)
		h.mu.Unlock()
		if before != nil {
			before(n)
		}
		h.mu.Lock()
		h.busy--
		h.mu.Unlock()
		return 2 * in, nil
	})
	h.runs(w.Run)
}

// begin begins runs, and each hands a task out.
func (h *hinted) begin(e *engine, from, to int) {
	h.Helper()
	for i := from; i < to; i++ {
		if _, err := e.app.Run(h.Context(), fmt.Sprint("t", i), i); err != nil {
			h.Fatal(err)
		}
	}
}

// done waits for the ends of runs.
func (h *hinted) done(e *engine, from, to int) {
	h.Helper()
	ctx, cancel := context.WithTimeout(h.Context(), 2*time.Minute)
	defer cancel()
	for i := from; i < to; i++ {
		for ev, err := range e.l.Watch(ctx, ledger.WatchQuery{Thread: fmt.Sprint("t", i)}) {
			if err != nil {
				h.Fatalf("run %d: %v", i, err)
			}
			if ev.Checkpoint != nil && ev.Checkpoint.Status == posthouse.StatusDone {
				break
			}
		}
		if r, err := e.app.Result(h.Context(), fmt.Sprint("t", i)); err != nil || r.Output != 2*i {
			h.Fatalf("run %d: %+v, %v", i, r, err)
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := from; i < to; i++ {
		if h.handled[i] != 1 {
			h.Errorf("input %d was handled %d times", i, h.handled[i])
		}
	}
}

// stream returns the queue's stream, once an engine has made it.
func (h *hinted) stream() jetstream.Stream {
	h.Helper()
	if h.js == nil {
		js, err := jetstream.New(h.connect())
		if err != nil {
			h.Fatal(err)
		}
		h.js = js
	}
	for deadline := time.After(time.Minute); ; {
		s, err := h.js.Stream(h.Context(), "posthouse-hints")
		if err == nil {
			return s
		}
		select {
		case <-deadline:
			h.Fatal(err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// messages waits until the stream has n messages.
func (h *hinted) messages(n uint64) {
	h.Helper()
	for deadline := time.After(time.Minute); ; {
		i, err := h.stream().Info(h.Context())
		if err == nil && i.State.Msgs == n {
			return
		}
		select {
		case <-deadline:
			h.Fatalf("%+v, %v, want %d messages", i, err, n)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// TestEachTaskHasOneHint: of two engines one is told of a task, and no task is handled twice.
// In the end the queue is empty.
func TestEachTaskHasOneHint(t *testing.T) {
	h := newHinted(t, nil)
	h.lease = 30 * time.Second // a slow machine tells no engine twice
	p, q := h.queue(), h.queue()
	a, b := h.engine(p, nil, runs.RemoteOptions{}), h.engine(q, nil, runs.RemoteOptions{})
	h.worker(a.d, worker.Options{Name: "a", Concurrency: 2}, nil)
	h.worker(b.d, worker.Options{Name: "b", Concurrency: 2}, nil)
	<-p.used
	<-q.used
	const n = 100
	h.begin(a, 0, n/2)
	h.begin(b, n/2, n)
	h.done(a, 0, n)
	h.messages(0)
	h.mu.Lock()
	defer h.mu.Unlock()
	again := 0
	for gate, times := range h.told {
		if times > 1 {
			again++ // its end and a look at all tasks met
			t.Logf("engines were told of %s %d times", gate, times)
		}
	}
	if len(h.told) != n || again > n/10 {
		t.Errorf("engines were told of %d of %d tasks, of %d again", len(h.told), n, again)
	}
}

// TestLostHints: the stream is purged and deleted, again and again.
func TestLostHints(t *testing.T) {
	h := newHinted(t, nil)
	a, b := h.engine(h.queue(), nil, runs.RemoteOptions{}), h.engine(h.queue(), nil, runs.RemoteOptions{})
	s := h.stream()
	disturb := func(n int) {
		var err error
		switch {
		case n%20 == 10:
			err = s.Purge(t.Context())
		case n%20 == 0:
			err = h.js.DeleteStream(t.Context(), "posthouse-hints")
		}
		if err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
			t.Error(err)
		}
	}
	const n = 60
	h.begin(a, 0, n) // before there are workers
	h.worker(a.d, worker.Options{Name: "a"}, disturb)
	h.worker(b.d, worker.Options{Name: "b"}, disturb)
	h.done(b, 0, n)
}

// TestNATSIsRestarted: engines go on without the queue, and use it again when it is back.
func TestNATSIsRestarted(t *testing.T) {
	h := newHinted(t, nil)
	a, b := h.engine(h.queue(), nil, runs.RemoteOptions{}), h.engine(h.queue(), nil, runs.RemoteOptions{})
	h.stream()
	h.worker(a.d, worker.Options{Name: "a"}, nil)
	h.worker(b.d, worker.Options{Name: "b"}, nil)
	h.begin(a, 0, 10)
	h.done(a, 0, 10)
	h.stopNATS()
	start := time.Since(time.Unix(0, 0))
	h.begin(a, 10, 30)
	h.done(b, 10, 30)
	t.Logf("20 tasks took %s without the queue", (time.Since(time.Unix(0, 0)) - start).Round(time.Millisecond))
	h.startNATS()
	h.stream() // memory is empty: an engine made it again
	h.mu.Lock()
	clear(h.told)
	h.mu.Unlock()
	for n, deadline := 30, time.After(time.Minute); ; n += 10 { // each engine notices by itself
		h.begin(a, n, n+10)
		h.done(b, n, n+10)
		h.mu.Lock()
		told := len(h.told)
		h.mu.Unlock()
		if told >= 10 {
			return
		}
		select {
		case <-deadline:
			t.Fatalf("the queue told of %d tasks since it is back", told)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// TestWithoutJetStream: engines find tasks as ever.
func TestWithoutJetStream(t *testing.T) {
	h := newHinted(t, func(o *server.Options) { o.JetStream = false })
	a, b := h.engine(h.queue(), nil, runs.RemoteOptions{}), h.engine(h.queue(), nil, runs.RemoteOptions{})
	h.worker(a.d, worker.Options{Name: "a"}, nil)
	h.worker(b.d, worker.Options{Name: "b"}, nil)
	h.begin(a, 0, 20)
	h.done(b, 0, 20)
}
