package natstask_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/task"
	"github.com/posthouse/posthouse/task/natstask"
	"github.com/posthouse/posthouse/worker"
)

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

func (d *diary) logger() *slog.Logger { return slog.New(slog.NewTextHandler(d, nil)) }

func (d *diary) has(text string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return strings.Contains(d.text.String(), text)
}

// far returns an engine that is reached over NATS.
func far(t *testing.T, conn *nats.Conn) task.Engine {
	t.Helper()
	e, err := natstask.NewEngine(conn, nil)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestATaskThatNoMessageCarries fails with the reason, attempt for attempt, and both sides
// log it.
func TestATaskThatNoMessageCarries(t *testing.T) {
	connect := startNATS(t)
	var engines, workers diary
	e := startProgram(t, memstore.New(), connect(), nil, &natstask.Options{Logger: engines.logger()}, func(ctx context.Context, in int) (int, error) {
		return step.RemoteWith[int](ctx, "big", "big", strings.Repeat("x", in), runs.RemoteOptions{
			Limits: posthouse.TaskLimits{RetryPolicy: posthouse.RetryPolicy{MaxAttempts: 2, InitialDelay: time.Millisecond}},
		})
	})
	w, err := worker.New(far(t, connect()), &worker.Options{Name: "w", Logger: workers.logger()})
	if err != nil {
		t.Fatal(err)
	}
	var handled atomic.Int32
	worker.Handle(w, "big", func(worker.Task, string) (int, error) { return int(handled.Add(1)), nil })
	run(t, w.Run)
	if _, err := e.app.Run(t.Context(), "t", task.MaxInput-2); err != nil {
		t.Fatal(err)
	}
	e.becomes(t, "t", posthouse.StatusFailed)
	n := 0
	for i, err := range e.d.Tasks(t.Context(), task.Query{Failed: true}) {
		if n++; err != nil || i.Thread != "t" || i.State != task.Failed || i.Call.Attempt != 2 || !strings.Contains(i.Call.Failure, "max_payload") ||
			i.Decision.By != "worker:w" || !strings.Contains(i.Decision.Reason, "max_payload") {
			t.Errorf("%+v, %v", i, err)
		}
	}
	if n != 1 || handled.Load() != 0 {
		t.Errorf("%d tasks failed for good, %d were handled", n, handled.Load())
	}
	for side, said := range map[string]*diary{"engine": &engines, "worker": &workers} {
		if !said.has("level=WARN") || !said.has("max_payload") {
			t.Errorf("the %s says nothing", side)
		}
	}
	if _, err := e.app.Run(t.Context(), "small", 1); err != nil { // nothing is in its way
		t.Fatal(err)
	}
	e.done(t, "small")
}

// TestAnAnswerThatNoMessageCarries is an error at once, and what was sent over NATS can be
// read over NATS.
func TestAnAnswerThatNoMessageCarries(t *testing.T) {
	connect := startNATSWith(t, &server.Options{Cluster: server.ClusterOpts{Name: strings.Repeat("x", 200)}}) // in each answer
	here := startEngineWith(t, memstore.New(), connect(), &ledger.Options{LeaseTTL: time.Minute})
	there := far(t, connect())
	if _, err := here.app.Run(t.Context(), "t", 1); err != nil {
		t.Fatal(err)
	}
	s, err := there.Connect(t.Context(), task.Hello{Protocol: task.Protocol, Worker: "w", Tasks: []string{"double"}, Concurrency: 1})
	if err != nil {
		t.Fatal(err)
	}
	c, err := there.Claim(t.Context(), s.ID)
	if err != nil || c == nil {
		t.Fatalf("%+v, %v", c, err)
	}
	if err := here.d.Save(t.Context(), c.ID, 0, make([]byte, 1_000_000)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := there.Load(ctx, c.ID); !errors.Is(err, posthouse.ErrTooLarge) || !strings.Contains(err.Error(), "max_payload") {
		t.Errorf("%v", err)
	}
	largest := 1 << 20 / 4 * 3 // in base64
	for _, by := range []int{999, 99, 9, 3} {
		for err = posthouse.ErrTooLarge; errors.Is(err, posthouse.ErrTooLarge); {
			largest -= by
			err = there.Save(ctx, c.ID, 0, make([]byte, largest))
		}
		if err != nil {
			t.Fatal(err)
		}
		if by > 3 {
			largest += by
		}
	}
	if have, err := there.Load(ctx, c.ID); err != nil || len(have) != largest {
		t.Errorf("%d bytes of %d: %v", len(have), largest, err)
	}
}

// TestManyStepsComeBack: the second attempt finds what the first recorded, though no message
// carries all of it, and runs no step again.
func TestManyStepsComeBack(t *testing.T) {
	connect := startNATS(t)
	e := startProgram(t, memstore.New(), connect(), nil, nil, func(ctx context.Context, in int) (int, error) {
		return step.RemoteWith[int](ctx, "big", "big", in, runs.RemoteOptions{Limits: posthouse.TaskLimits{RetryPolicy: posthouse.RetryPolicy{InitialDelay: time.Millisecond}}})
	})
	w, err := worker.New(far(t, connect()), nil)
	if err != nil {
		t.Fatal(err)
	}
	const n = 2 // together more than a message may have
	var ran, attempts atomic.Int32
	worker.Handle(w, "big", func(wt worker.Task, _ int) (int, error) {
		for i := range n {
			have, err := step.Do(wt.Context(), "read", func(context.Context) (string, error) {
				ran.Add(1)
				return strings.Repeat(string(rune('a'+i)), task.MaxStep-2), nil
			})
			if err != nil {
				return 0, err
			}
			if len(have) != task.MaxStep-2 || have[0] != byte('a'+i) {
				return 0, worker.Permanent(errors.New("another result"))
			}
		}
		if attempts.Add(1) == 1 {
			return 0, errors.New("try again")
		}
		return 1, nil
	})
	run(t, w.Run)
	if _, err := e.app.Run(t.Context(), "t", 1); err != nil {
		t.Fatal(err)
	}
	e.done(t, "t")
	if attempts.Load() != 2 || ran.Load() != n {
		t.Errorf("%d steps ran in %d attempts", ran.Load(), attempts.Load())
	}
}
