package dispatch_test

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/dispatch"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/proof/pgtest"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runner"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/pgstore"
	"github.com/posthouse/posthouse/store/sqlitestore"
	"github.com/posthouse/posthouse/task"
	"github.com/posthouse/posthouse/task/natstask"
	"github.com/posthouse/posthouse/worker"
)

// truths are the stores that are measured, with every write durable.
var truths = []struct {
	name string
	open func(testing.TB) posthouse.Store
}{
	{"sqlite", func(t testing.TB) posthouse.Store {
		return opened(t)(sqlitestore.Open(t.Context(), filepath.Join(t.TempDir(), "truth.db"), nil))
	}},
	{"postgres", func(t testing.TB) posthouse.Store {
		return opened(t)(pgstore.Open(t.Context(), pgtest.Start(t).URL(), nil))
	}},
}

// opened returns what opens a store for a test.
func opened(t testing.TB) func(posthouse.Store, error) posthouse.Store {
	return func(s posthouse.Store, err error) posthouse.Store {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
}

// A house is an engine with a runner, a NATS server that is reached by TCP, and a flow and a
// graph that hand out a number of empty tasks, one after the other.
type house struct {
	testing.TB
	led   *ledger.Ledger
	flow  *flow.App[int, int]
	graph *graph.App[countdown]
	d     *dispatch.Dispatcher
	nats  *server.Server

	mu   sync.Mutex
	ends map[string]chan struct{} // of runs that a test waits for
}

// A countdown is the state of the graph.
type countdown struct{ Steps, Done int }

func newHouse(t testing.TB, store posthouse.Store) *house {
	t.Helper()
	h := &house{TB: t, ends: map[string]chan struct{}{}}
	var err error
	h.led, err = ledger.Open(store, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.led.Close() })
	program := flow.New("empty", func(ctx context.Context, n int) (int, error) {
		for i := range n {
			if _, err := step.Remote[int](ctx, fmt.Sprint("step ", i), "empty", i); err != nil {
				return 0, err
			}
		}
		return n, nil
	})
	h.flow, err = program.Open(h.led, nil)
	if err != nil {
		t.Fatal(err)
	}
	g := graph.New[countdown]("countdown")
	g.Remote("step", graph.Remote[countdown, int, int]{
		Task: "empty",
		In:   func(c *countdown) (int, error) { return c.Done, nil },
		Out:  func(c *countdown, _ int) error { c.Done++; return nil },
	})
	g.Edge(graph.Start, "step")
	g.Route("step", func(c *countdown) string {
		if c.Done < c.Steps {
			return "step"
		}
		return graph.End
	}, "step", graph.End)
	h.graph, err = g.Compile(h.led, nil)
	if err != nil {
		t.Fatal(err)
	}
	h.d, err = dispatch.New(h.led, nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := runner.New(h.led, &runner.Options{Programs: []posthouse.Program{h.flow, h.graph}})
	if err != nil {
		t.Fatal(err)
	}
	h.nats, err = server.NewServer(&server.Options{ServerName: "speed", Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true})
	if err != nil {
		t.Fatal(err)
	}
	h.nats.Start()
	t.Cleanup(func() { h.nats.Shutdown(); h.nats.WaitForShutdown() })
	if !h.nats.ReadyForConnections(time.Minute) {
		t.Fatal("NATS does not start")
	}
	stop, err := natstask.Serve(h.connect(), h.d, nil)
	if err != nil {
		t.Fatal(err)
	}
	h.background(h.d.Run, r.Run, h.watch)
	t.Cleanup(stop)
	return h
}

// background runs functions until the test ends.
func (h *house) background(fns ...func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	for _, fn := range fns {
		group.Go(func() {
			if err := fn(ctx); err != nil {
				h.Error(err)
			}
		})
	}
	h.Cleanup(func() { cancel(); group.Wait() })
}

func (h *house) connect() *nats.Conn {
	h.Helper()
	c, err := nats.Connect(h.nats.ClientURL())
	if err != nil {
		h.Fatal(err)
	}
	h.Cleanup(c.Close)
	return c
}

// workers starts workers, each with a connection of its own and one place.
func (h *house) workers(n int, handle func(worker.Task, int) (int, error)) {
	h.Helper()
	for i := range n {
		engine, err := natstask.NewEngine(h.connect(), nil)
		if err != nil {
			h.Fatal(err)
		}
		w, err := worker.New(engine, &worker.Options{Name: fmt.Sprint("w", i)})
		if err != nil {
			h.Fatal(err)
		}
		worker.Handle(w, "empty", handle)
		h.background(w.Run)
	}
}

// watch tells those who wait for the end of a run.
func (h *house) watch(ctx context.Context) error {
	for e, err := range h.led.Watch(ctx, ledger.WatchQuery{Cursor: "now"}) {
		if err != nil {
			if ctx.Err() == nil {
				return err
			}
			return nil
		}
		if e.Checkpoint != nil && e.Checkpoint.Status == posthouse.StatusDone {
			h.mu.Lock()
			if end := h.ends[e.Thread]; end != nil {
				close(end)
				delete(h.ends, e.Thread)
			}
			h.mu.Unlock()
		}
	}
	return nil
}

// run runs the flow with n tasks to its end.
func (h *house) run(thread string, n int) {
	h.await(thread, func() error { _, err := h.flow.Run(h.Context(), thread, n); return err })
}

// runGraph runs the graph with n tasks to its end.
func (h *house) runGraph(thread string, n int) {
	h.await(thread, func() error { _, err := h.graph.Run(h.Context(), thread, countdown{Steps: n}); return err })
}

// await begins a run, and waits for its end.
func (h *house) await(thread string, begin func() error) {
	end := make(chan struct{})
	h.mu.Lock()
	h.ends[thread] = end
	h.mu.Unlock()
	if err := begin(); err != nil {
		h.Error(err)
		return
	}
	<-end
}

func emptyTask(worker.Task, int) (int, error) { return 0, nil }

// BenchmarkTasks measures empty tasks a second, from the beginning of a run with one task to
// the run's end, with as many workers as it says and twice as many runs at once.
func BenchmarkTasks(b *testing.B) {
	for _, truth := range truths {
		for _, n := range []int{1, 8, 64} {
			b.Run(fmt.Sprintf("%s/workers=%d", truth.name, n), func(b *testing.B) {
				h := newHouse(b, truth.open(b))
				h.workers(n, emptyTask)
				h.run("first", 1)
				var next atomic.Int64
				var group sync.WaitGroup
				b.ResetTimer()
				for range 2 * n {
					group.Go(func() {
						for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
							h.run(fmt.Sprint("run-", i), 1)
						}
					})
				}
				group.Wait()
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "tasks/s")
			})
		}
	}
}

// BenchmarkNextStep measures the time from the return of a handler to the call of the
// handler of the run's next step, against one round trip over NATS and one commit. A flow
// reads its record again at each step, so that it takes longer the more steps a run has.
func BenchmarkNextStep(b *testing.B) {
	for _, truth := range truths {
		for _, program := range []string{"graph", "flow"} {
			for _, steps := range []int{5, 20} {
				b.Run(fmt.Sprintf("%s/%s/steps=%d", truth.name, program, steps), func(b *testing.B) {
					h := newHouse(b, truth.open(b))
					run := h.run
					if program == "graph" {
						run = h.runGraph
					}
					h.measureGaps(b, run, steps)
				})
			}
		}
	}
}

// measureGaps reports the median time between steps, of at least b.N.
func (h *house) measureGaps(b *testing.B, run func(string, int), steps int) {
	var ended time.Time
	var gaps []time.Duration
	h.workers(1, func(_ worker.Task, i int) (int, error) {
		if i > 0 {
			gaps = append(gaps, time.Since(ended))
		}
		ended = time.Now()
		return i, nil
	})
	run("first", steps)
	gaps = nil
	trip, commit := h.roundTrip(200), h.commit(200)
	b.ResetTimer()
	for i := 0; len(gaps) < b.N; i++ {
		run(fmt.Sprint("run-", i), steps)
	}
	b.StopTimer()
	trip, commit = (trip+h.roundTrip(200))/2, (commit+h.commit(200))/2
	gap := median(gaps)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(gap.Microseconds()), "µs-between")
	b.ReportMetric(float64(trip.Microseconds()), "µs-trip")
	b.ReportMetric(float64(commit.Microseconds()), "µs-commit")
	b.ReportMetric(float64(gap)/float64(trip+commit), "times")
}

// roundTrip is the median time of a request over NATS between two connections.
func (h *house) roundTrip(n int) time.Duration {
	h.Helper()
	far := h.connect()
	sub, err := far.Subscribe("echo", func(m *nats.Msg) { _ = m.Respond(m.Data) })
	if err == nil {
		err = far.Flush()
	}
	if err != nil {
		h.Fatal(err)
	}
	defer func() { _ = sub.Unsubscribe() }()
	c := h.connect()
	return h.each(n, func(int) error {
		_, err := c.Request("echo", []byte("x"), time.Minute)
		return err
	})
}

// commit is the median time of a commit of a small checkpoint.
func (h *house) commit(n int) time.Duration {
	h.Helper()
	id := h.led.Core().NewID()
	return h.each(n, func(i int) error {
		state := posthouse.State{posthouse.OpaquePart: {Codec: "json", Data: []byte(`"x"`)}}
		_, err := h.led.Save(h.Context(), posthouse.Root(fmt.Sprintf("commit-%s-%d", id, i), state), nil)
		return err
	})
}

func (h *house) each(n int, call func(int) error) time.Duration {
	h.Helper()
	all := make([]time.Duration, n)
	for i := range n {
		begun := time.Now()
		if err := call(i); err != nil {
			h.Fatal(err)
		}
		all[i] = time.Since(begun)
	}
	return median(all)
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

// TestWaitingTasksAreSmall parks 10,000 threads on tasks that no worker takes. They cost no
// goroutine, and less than 2 KB of memory each in an engine that serves them.
func TestWaitingTasksAreSmall(t *testing.T) {
	n := 10_000
	if testing.Short() {
		n = 1_000
	}
	h := newHouse(t, truths[0].open(t))
	hello := task.Hello{Protocol: task.Protocol, Worker: "w", Tasks: []string{"other"}, Concurrency: 1}
	if _, err := h.d.Connect(t.Context(), hello); err != nil {
		t.Fatal(err)
	}
	park := func(name string, n int) {
		var next atomic.Int64
		var group sync.WaitGroup
		for range 16 {
			group.Go(func() {
				for i := next.Add(1); i <= int64(n); i = next.Add(1) {
					if res, err := h.flow.Run(t.Context(), fmt.Sprintf("%s-%d", name, i), 1); err != nil || res.Status != posthouse.StatusWaiting {
						t.Errorf("Run: %+v, error %v", res, err)
						return
					}
				}
			})
		}
		group.Wait()
	}
	park("warm", 200)
	heap, goroutines := weigh()
	park("run", n)
	heapThen, goroutinesThen := weigh()
	each := (int64(heapThen) - int64(heap)) / int64(n)
	t.Logf("%d waiting tasks: %d bytes each, %d goroutines before and %d then", n, each, goroutines, goroutinesThen)
	if each > 2048 && !testing.Short() {
		t.Errorf("a waiting task costs %d bytes, want less than 2 KB", each)
	}
	if goroutinesThen > goroutines+50 {
		t.Errorf("%d goroutines, before %d", goroutinesThen, goroutines)
	}
}

// weigh returns the bytes in use and the number of goroutines.
func weigh() (heap uint64, goroutines int) {
	var m runtime.MemStats
	for range 3 {
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return m.HeapAlloc, runtime.NumGoroutine()
}
