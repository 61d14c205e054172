package standalone_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/dispatch"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runner"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/task"
	"github.com/posthouse/posthouse/task/standalone"
	"github.com/posthouse/posthouse/worker"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// An engine has a Starter, a runner, a Dispatcher and a worker with one handler.
func engine(t *testing.T, h worker.Handler) (*standalone.Starter, *dispatch.Dispatcher) {
	t.Helper()
	l, err := ledger.Open(memstore.New(), nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := standalone.Open(l)
	if err != nil {
		t.Fatal(err)
	}
	r, err := runner.New(l, &runner.Options{Programs: []posthouse.Program{s.Program()}})
	if err != nil {
		t.Fatal(err)
	}
	d, err := dispatch.New(l, nil)
	if err != nil {
		t.Fatal(err)
	}
	w, err := worker.New(d, nil)
	if err != nil {
		t.Fatal(err)
	}
	w.HandleFunc("echo", h)
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for _, run := range []func(context.Context) error{r.Run, d.Run, w.Run} {
		running.Go(func() {
			if err := run(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	t.Cleanup(func() {
		stop()
		running.Wait()
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, d
}

// await waits, in fake time, until the task is over.
func await(t *testing.T, s *standalone.Starter, thread string) *task.Started {
	t.Helper()
	look := time.NewTicker(100 * time.Millisecond)
	defer look.Stop()
	for range 1000 {
		got, err := s.Outcome(t.Context(), thread)
		if err != nil {
			t.Fatal(err)
		}
		switch got.Status {
		case posthouse.StatusDone, posthouse.StatusFailed, posthouse.StatusCancelled:
			return got
		}
		<-look.C
	}
	t.Fatalf("task of %s is not over", thread)
	return nil
}

func echo(w worker.Task) error { return w.Complete(w.Input()) }

func TestTaskIsDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := engine(t, echo)
		got, err := s.Start(t.Context(), task.Start{Task: "echo", Input: json.RawMessage(`{"n":1}`)}, "alice")
		if err != nil || got.Status != posthouse.StatusWaiting || got.Gate == "" || !strings.HasPrefix(got.Thread, standalone.Prefix) {
			t.Fatalf("got %+v, error %v", got, err)
		}
		got = await(t, s, got.Thread)
		if got.Status != posthouse.StatusDone || string(got.Output) != `{"n":1}` || got.Gate != "" {
			t.Errorf("got %+v", got)
		}
	})
}

// TestKey starts a task many times at once under one key: it is handled once.
func TestKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		handled := 0
		s, _ := engine(t, func(w worker.Task) error {
			mu.Lock()
			defer mu.Unlock()
			handled++
			return w.Complete(handled)
		})
		start := task.Start{Task: "echo", Key: "order-7", Input: json.RawMessage("7")}
		var at sync.WaitGroup
		for range 8 {
			at.Go(func() {
				if got, err := s.Start(t.Context(), start, "alice"); err != nil || got.Thread != "task-order-7" {
					t.Errorf("got %+v, error %v", got, err)
				}
			})
		}
		at.Wait()
		await(t, s, "task-order-7")
		got, err := s.Start(t.Context(), start, "bob")
		if err != nil || got.Status != posthouse.StatusDone || string(got.Output) != "1" || handled != 1 {
			t.Errorf("%+v, %v; handled %d times", got, err, handled)
		}
		start.Input = json.RawMessage("8")
		if _, err := s.Start(t.Context(), start, "alice"); !errors.Is(err, posthouse.ErrExists) {
			t.Errorf("other content under the key: %v", err)
		}
	})
}

// TestMetadata reaches the handler beside the input.
func TestMetadata(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := engine(t, func(w worker.Task) error { return w.Complete(w.Metadata()) })
		start := task.Start{Task: "echo", Metadata: map[string]string{"tenant": "42"}}
		got, err := s.Start(t.Context(), start, "alice")
		if err != nil {
			t.Fatal(err)
		}
		got = await(t, s, got.Thread)
		if string(got.Output) != `{"tenant":"42"}` {
			t.Errorf("got %+v", got)
		}
	})
}

func TestTaskFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := engine(t, func(w worker.Task) error { return errors.New("no film") })
		start := task.Start{Task: "echo", Key: "k", Limits: posthouse.TaskLimits{RetryPolicy: posthouse.RetryPolicy{MaxAttempts: 2}}}
		if _, err := s.Start(t.Context(), start, "alice"); err != nil {
			t.Fatal(err)
		}
		got := await(t, s, "task-k")
		if got.Status != posthouse.StatusFailed || !strings.Contains(got.Error, "attempt 2") || !strings.Contains(got.Error, "no film") {
			t.Errorf("got %+v", got)
		}
		if again, err := s.Start(t.Context(), start, "alice"); err != nil || again.Status != posthouse.StatusFailed {
			t.Errorf("started again under its key: %+v, %v", again, err)
		}
	})
}

func TestTaskBeginsLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, d := engine(t, echo)
		began := time.Now()
		got, err := s.Start(t.Context(), task.Start{Task: "echo", After: 30 * time.Second}, "alice")
		if err != nil {
			t.Fatal(err)
		}
		if i, err := d.Task(t.Context(), got.Gate); err != nil || i.State != task.Delayed {
			t.Errorf("%+v, %v", i, err)
		}
		await(t, s, got.Thread)
		if took := time.Since(began); took < 30*time.Second {
			t.Errorf("done after %s", took)
		}
	})
}

func TestTaskExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := engine(t, echo)
		got, err := s.Start(t.Context(), task.Start{Task: "nobody handles it", Expires: 5 * time.Second}, "alice")
		if err != nil {
			t.Fatal(err)
		}
		got = await(t, s, got.Thread)
		if got.Status != posthouse.StatusFailed || !strings.Contains(got.Error, "no worker completed") {
			t.Errorf("got %+v", got)
		}
	})
}

// TestStartIsChecked before anything is on record.
func TestStartIsChecked(t *testing.T) {
	l, err := ledger.Open(memstore.New(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s, err := standalone.Open(l)
	if err != nil {
		t.Fatal(err)
	}
	for field, start := range map[string]task.Start{
		"task":     {},
		"input":    {Task: "a", Input: json.RawMessage(`{"a":1,"a":2}`)},
		"group":    {Task: "a", Group: "\x00"},
		"key":      {Task: "a", Key: strings.Repeat("k", 191)},
		"after":    {Task: "a", After: -1},
		"expires":  {Task: "a", Expires: 1 << 62},
		"attempts": {Task: "a", Limits: posthouse.TaskLimits{RetryPolicy: posthouse.RetryPolicy{MaxAttempts: 1001}}},
		"trace":    {Task: "a", Trace: map[string]string{"": "x"}},
		"metadata": {Task: "a", Metadata: map[string]string{"x": strings.Repeat("v", 801)}},
	} {
		var e *posthouse.Error
		if _, err := s.Start(t.Context(), start, "alice"); !errors.As(err, &e) || e.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	for info, err := range l.Threads(t.Context(), posthouse.ThreadQuery{}) {
		t.Errorf("on record: %+v, %v", info, err)
	}
	if _, err := s.Outcome(t.Context(), "task-none"); !errors.Is(err, posthouse.ErrNotFound) {
		t.Error(err)
	}
}

// TestInputThatGrows: what counts is how large the input is on record, where "<" takes six
// bytes. A start that is refused leaves its key free.
func TestInputThatGrows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := engine(t, echo)
		for name, input := range map[string]string{
			"escaped": `"` + strings.Repeat("<", task.MaxInput/4) + `"`,
			"nested":  strings.Repeat("[", posthouse.MaxDepth) + strings.Repeat("]", posthouse.MaxDepth),
		} {
			start := task.Start{Task: "echo", Key: name, Input: json.RawMessage(input)}
			if got, err := s.Start(t.Context(), start, "alice"); !errors.Is(err, posthouse.ErrTooLarge) && !errors.Is(err, posthouse.ErrInvalid) {
				t.Errorf("%s: got %+v, error %v", name, got, err)
			}
			start.Input = json.RawMessage(`"<"`)
			got, err := s.Start(t.Context(), start, "alice")
			if err != nil || got.Status != posthouse.StatusWaiting {
				t.Fatalf("%s: got %+v, error %v", name, got, err)
			}
			got = await(t, s, got.Thread)
			if string(got.Output) != `"\u003c"` {
				t.Errorf("%s: got %+v", name, got)
			}
		}
		start := task.Start{Task: "echo", Key: "spaces", Input: json.RawMessage("[" + strings.Repeat(" ", task.MaxInput) + "]")}
		if got, err := s.Start(t.Context(), start, "alice"); err != nil || got.Status != posthouse.StatusWaiting {
			t.Errorf("spaces: %+v, %v", got, err)
		}
	})
}

func Example() {
	l, err := ledger.Open(memstore.New(), nil)
	if err != nil {
		panic(err)
	}
	defer l.Close()
	s, err := standalone.Open(l)
	if err != nil {
		panic(err)
	}
	start := task.Start{Task: "transcribe", Input: json.RawMessage(`{"video":7}`), Key: "video-7"}
	for range 2 { // the second finds the first
		started, err := s.Start(context.Background(), start, "alice")
		if err != nil {
			panic(err)
		}
		fmt.Println(started.Thread, started.Status)
	}
	// Output:
	// task-video-7 waiting
	// task-video-7 waiting
}

// TestTasksWithoutAGrant: where the ledger requires grants, a task by itself says that it does
// not act on the world, or nothing of it is on record.
func TestTasksWithoutAGrant(t *testing.T) {
	l, err := ledger.Open(memstore.New(), &ledger.Options{RequireGrants: true})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s, err := standalone.Open(l)
	if err != nil {
		t.Fatal(err)
	}
	for class, want := range map[posthouse.Effect]error{
		posthouse.EffectUnset: posthouse.ErrForbidden, posthouse.EffectExternal: posthouse.ErrForbidden,
		posthouse.EffectHuman: posthouse.ErrInvalid, posthouse.EffectWrite: nil, posthouse.EffectPure: nil,
	} {
		key := "k" + class.String()
		started, err := s.Start(t.Context(), task.Start{Task: "echo", Key: key, Effect: class}, "")
		if !errors.Is(err, want) || err == nil && started.Status != posthouse.StatusWaiting {
			t.Errorf("class %q: %+v, %v", class, started, err)
		}
		if _, err := l.Thread(t.Context(), standalone.Prefix+key); (want != nil) != errors.Is(err, posthouse.ErrNotFound) {
			t.Errorf("class %q: the thread: %v", class, err)
		}
	}
}
