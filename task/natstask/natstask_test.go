package natstask_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"go.uber.org/goleak"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/dispatch"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runner"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/task"
	"github.com/posthouse/posthouse/task/deadletter"
	"github.com/posthouse/posthouse/task/natstask"
	"github.com/posthouse/posthouse/worker"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// startNATS starts a server in this process, and returns how to connect to it.
func startNATS(t *testing.T) func() *nats.Conn {
	t.Helper()
	return startNATSWith(t, &server.Options{})
}

func startNATSWith(t *testing.T, o *server.Options) func() *nats.Conn {
	t.Helper()
	o.ServerName, o.DontListen, o.NoSigs, o.NoLog = "test", true, true, true
	s, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	if !s.ReadyForConnections(30 * time.Second) {
		t.Fatal("the server does not start")
	}
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	return func() *nats.Conn {
		c, err := nats.Connect("", nats.InProcessServer(s))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		return c
	}
}

// An engine runs a program with a task as its one step.
type engine struct {
	l    *ledger.Ledger
	app  *flow.App[int, int]
	d    *dispatch.Dispatcher
	stop func() // leaves NATS
}

func startEngine(t *testing.T, store posthouse.Store, conn *nats.Conn) *engine {
	t.Helper()
	return startEngineWith(t, store, conn, nil)
}

func startEngineWith(t *testing.T, store posthouse.Store, conn *nats.Conn, o *ledger.Options) *engine {
	t.Helper()
	return startProgram(t, store, conn, o, nil, func(ctx context.Context, in int) (int, error) {
		return step.Remote[int](ctx, "double", "double", in)
	})
}

func startProgram(t *testing.T, store posthouse.Store, conn *nats.Conn, o *ledger.Options, no *natstask.Options, program func(context.Context, int) (int, error)) *engine {
	t.Helper()
	l, err := ledger.Open(store, o)
	if err != nil {
		t.Fatal(err)
	}
	e := &engine{l: l}
	e.app, err = flow.New("f", program).Open(l, nil)
	if err != nil {
		t.Fatal(err)
	}
	e.d, err = dispatch.New(l, &dispatch.Options{Poll: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	r, err := runner.New(l, &runner.Options{Programs: []posthouse.Program{e.app}})
	if err != nil {
		t.Fatal(err)
	}
	e.stop, err = natstask.Serve(conn, e.d, no)
	if err != nil {
		t.Fatal(err)
	}
	run(t, e.d.Run, r.Run)
	t.Cleanup(e.stop)
	return e
}

func run(t *testing.T, fns ...func(context.Context) error) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	for _, fn := range fns {
		go func() { ended <- fn(ctx) }()
	}
	t.Cleanup(func() {
		cancel()
		for range fns {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	})
}

// done waits until a thread is done.
func (e *engine) done(t *testing.T, thread string) {
	t.Helper()
	e.becomes(t, thread, posthouse.StatusDone)
}

// becomes waits until a thread has a status.
func (e *engine) becomes(t *testing.T, thread string, status posthouse.Status) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for ev, err := range e.l.Watch(ctx, ledger.WatchQuery{Thread: thread}) {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Checkpoint != nil && ev.Checkpoint.Status == status {
			return
		}
	}
	t.Fatalf("thread %s does not become %s", thread, status)
}

// TestWorkersOverNATS has two workers do 50 runs; their engine leaves in the middle.
func TestWorkersOverNATS(t *testing.T) {
	connect, store := startNATS(t), memstore.New()
	first := startEngine(t, store, connect())
	second := startEngine(t, store, connect())
	var handled atomic.Int32
	for i := range 2 {
		far, err := natstask.NewEngine(connect(), nil)
		if err != nil {
			t.Fatal(err)
		}
		w, err := worker.New(far, &worker.Options{Name: fmt.Sprint("w", i), Concurrency: 4})
		if err != nil {
			t.Fatal(err)
		}
		worker.Handle(w, "double", func(t worker.Task, in int) (int, error) {
			if err := worker.Save(t, in); err != nil {
				return 0, err
			}
			kept, ok, err := worker.Load[int](t)
			if err != nil || !ok || kept != in {
				return 0, fmt.Errorf("kept %d, %v, %v", kept, ok, err)
			}
			if handled.Add(1) == 20 {
				first.stop()
			}
			return 2 * in, nil
		})
		run(t, w.Run)
	}
	const n = 50
	for i := range n {
		if _, err := second.app.Run(t.Context(), fmt.Sprint("t", i), i); err != nil {
			t.Fatal(err)
		}
	}
	for i := range n {
		second.done(t, fmt.Sprint("t", i))
	}
	if h := handled.Load(); h != n {
		t.Errorf("handled %d of %d", h, n)
	}
}

// TestMessagesThatDoNotFit: such messages are answered with the reason, and go to the dead
// letters with it, also those without a subject for the answer.
func TestMessagesThatDoNotFit(t *testing.T) {
	connect := startNATS(t)
	box := deadletter.NewMemory(time.Now)
	startProgram(t, memstore.New(), connect(), nil, &natstask.Options{Letters: box}, func(context.Context, int) (int, error) { return 0, nil })
	conn, sent := connect(), 0
	for method, bodies := range map[string][]string{
		"connect":  {"", "{", `{"hello":null}`, `{"hello":{"protocol":1},"hello":{"protocol":2}}`, `{"hello":{"protocol":1,"worker":"w","tasks":["x"],"atOnce":1},"more":1}`},
		"claim":    {"{}", `{"session":"` + strings.Repeat("x", 201) + `"}`},
		"load":     {`{"claim":{"gate":"","fence":1}}`, `{}`},
		"resolve":  {`{"claim":{"gate":"gate-x","fence":1}}`, `{"claim":{"gate":"gate-x","fence":1},"verdict":{"action":"maybe"}}`},
		"nonsense": {"{}"},
	} {
		for _, body := range bodies {
			m, err := ask(conn, "posthouse.task.w.any."+method, []byte(body))
			if err != nil {
				t.Fatal(err)
			}
			var reply struct{ Error *posthouse.Error }
			if err := json.Unmarshal(m.Data, &reply); err != nil || reply.Error == nil || reply.Error.Code != posthouse.CodeInvalid || reply.Error.Field == "" {
				t.Errorf("%s %.40q: %s", method, body, m.Data)
			}
			if err := conn.Publish("posthouse.task.w.any."+method, []byte(body)); err != nil { // without waiting for an answer
				t.Fatal(err)
			}
			sent += 2
		}
	}
	if err := conn.Publish("posthouse.task.w.any.heartbeat", []byte(`{"session":"worker-of-nobody"}`)); err != nil { // it parses
		t.Fatal(err)
	}
	var all []deadletter.Letter
	for deadline := time.After(time.Minute); len(all) < sent; {
		all, _ = box.Letters(t.Context(), 100) // memory does not fail
		select {
		case <-deadline:
			t.Fatalf("%d of %d letters", len(all), sent)
		case <-time.After(10 * time.Millisecond):
		}
	}
	for _, l := range all {
		if l.Kind != deadletter.Request || l.Reason == "" || !strings.HasPrefix(l.Subject, "posthouse.task.w.any.") || strings.HasSuffix(l.Subject, "heartbeat") {
			t.Errorf("%+v", l)
		}
	}
}

func TestWithoutAnEngine(t *testing.T) {
	connect := startNATS(t)
	e, err := natstask.NewEngine(connect(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Connect(t.Context(), task.Hello{}); !errors.Is(err, posthouse.ErrUnavailable) {
		t.Errorf("%v", err)
	}
	if err := e.Save(t.Context(), task.ClaimID{Gate: "gate-x", Fence: 1}, 0, make([]byte, task.MaxSlot)); !errors.Is(err, posthouse.ErrTooLarge) {
		t.Errorf("a message above max_payload: %v", err)
	}
	if _, err := natstask.NewEngine(nil, &natstask.Options{Prefix: "a.b"}); !errors.Is(err, posthouse.ErrInvalid) {
		t.Errorf("%v", err)
	}
}

// TestRelay passes chunks to the other engines, not to the one that shares them, and passes
// over what is no chunk.
func TestRelay(t *testing.T) {
	connect := startNATS(t)
	conns := []*nats.Conn{connect(), connect()}
	var relays []*natstask.Relay
	got := []chan task.Chunk{make(chan task.Chunk, 10), make(chan task.Chunk, 10)}
	for i, c := range conns {
		r, err := natstask.NewRelay(c, nil)
		if err != nil {
			t.Fatal(err)
		}
		stop, err := r.Follow(func(c task.Chunk) { got[i] <- c })
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(stop)
		if err := c.Flush(); err != nil {
			t.Fatal(err)
		}
		relays = append(relays, r)
	}
	if err := conns[0].Publish("posthouse.chunk", []byte("no chunk")); err != nil {
		t.Fatal(err)
	}
	want := task.Chunk{Thread: "t1", Step: "1/f/get", Value: json.RawMessage(`{"n":1}`)}
	for _, r := range relays {
		if err := r.Share(want); err != nil {
			t.Fatal(err)
		}
	}
	for i := range got {
		select {
		case c := <-got[i]:
			if c.Thread != want.Thread || c.Step != want.Step || string(c.Value) != string(want.Value) {
				t.Errorf("%+v", c)
			}
		case <-time.After(10 * time.Second):
			t.Fatal("no chunk came")
		}
		if err := conns[i].Flush(); err != nil {
			t.Fatal(err)
		}
		if len(got[i]) != 0 {
			t.Errorf("relay %d gets its own", i)
		}
	}
	if _, err := natstask.NewRelay(conns[0], &natstask.Options{Prefix: "a.b"}); !errors.Is(err, posthouse.ErrInvalid) {
		t.Error(err)
	}
}

// TestAnEmptySlotOverNATS: an empty slot differs from a missing and from a cleared one,
// as in process.
func TestAnEmptySlotOverNATS(t *testing.T) {
	connect := startNATS(t)
	e := startEngine(t, memstore.New(), connect())
	far, err := natstask.NewEngine(connect(), nil)
	must.Do(t, err)
	_, err = e.app.Run(t.Context(), "t", 1)
	must.Do(t, err)
	s, err := far.Connect(t.Context(), task.Hello{Protocol: task.Protocol, Worker: "w", Tasks: []string{"double"}, Concurrency: 1})
	must.Do(t, err)
	c, err := far.Claim(t.Context(), s.ID)
	must.Do(t, err)
	if have, err := far.Load(t.Context(), c.ID); err != nil || have != nil {
		t.Errorf("nothing saved: %#v, %v", have, err)
	}
	for n, want := range [][]byte{{}, []byte("x"), {}, nil} {
		must.Do(t, far.Save(t.Context(), c.ID, uint64(n+1), want))
		if have, err := far.Load(t.Context(), c.ID); err != nil || string(have) != string(want) || (have == nil) != (want == nil) {
			t.Errorf("saved %#v, loaded %#v, %v", want, have, err)
		}
	}
	must.Do(t, far.Resolve(t.Context(), c.ID, task.Verdict{Action: task.Complete, Output: []byte("2")}))
}
