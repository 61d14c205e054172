//go:build unix

package shared

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/dispatch"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/proof/pgtest"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runner"
	"github.com/posthouse/posthouse/store/all"
	"github.com/posthouse/posthouse/task"
	"github.com/posthouse/posthouse/worker"
)

// A film is subtitled by a worker and printed by an engine.
type film struct {
	Lines, Printed string
}

// An engine runs one version of a graph, with a store of its own that leads to the same
// server as others.
type engine struct {
	app   *graph.App[film]
	tasks *dispatch.Dispatcher
	stop  func() // as on SIGTERM

	mu   sync.Mutex
	said bytes.Buffer
}

// Write takes what the engine logs.
func (e *engine) Write(b []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.said.Write(b)
}

// errors returns the lines that are errors.
func (e *engine) errors() (lines []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for line := range strings.Lines(e.said.String()) {
		if strings.Contains(line, "level=ERROR") {
			lines = append(lines, line)
		}
	}
	return lines
}

func startEngine(t *testing.T, url, version string) *engine {
	t.Helper()
	e := &engine{}
	log := slog.New(slog.NewTextHandler(e, nil))
	store, err := all.Open(t.Context(), url, nil)
	if err != nil {
		t.Fatal(err)
	}
	l, err := ledger.Open(store, &ledger.Options{Owner: version})
	if err != nil {
		t.Fatal(err)
	}
	g := graph.New[film]("film")
	g.Remote("subtitle-"+version, graph.Remote[film, string, string]{
		Task: "transcribe",
		In:   func(*film) (string, error) { return version, nil },
		Out:  func(f *film, lines string) error { f.Lines = lines; return nil },
	})
	g.Node("print-"+version, func(_ context.Context, f *film) error { f.Printed = "by " + version; return nil })
	g.Edge(graph.Start, "subtitle-"+version)
	g.Edge("subtitle-"+version, "print-"+version)
	g.Edge("print-"+version, graph.End)
	e.app, err = g.Compile(l, nil)
	if err != nil {
		t.Fatal(err)
	}
	e.tasks, err = dispatch.New(l, &dispatch.Options{Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	r, err := runner.New(l, &runner.Options{Programs: []posthouse.Program{e.app}, Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for _, run := range []func(context.Context) error{r.Run, e.tasks.Run} {
		running.Go(func() {
			if err := run(ctx); err != nil {
				t.Errorf("engine %s: %v", version, err)
			}
		})
	}
	e.stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(e.stop)
	return e
}

// TestRollingDeployWithTasksOpen deploys a version of a graph that does not fit what is open,
// while workers have tasks of the old version: their verdicts reach the new engine, and the
// old one goes on with its threads until the last. No engine logs an error.
func TestRollingDeployWithTasksOpen(t *testing.T) {
	const each = 5
	url := pgtest.URL(t) + fmt.Sprint("&schema=deploy", stores.Add(1))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	begin := func(e *engine, version string) {
		for i := range each {
			if res, err := e.app.Run(ctx, fmt.Sprint(version, "-", i), film{}); err != nil || res.Status != posthouse.StatusWaiting {
				t.Fatalf("result %+v, error %v", res, err)
			}
		}
	}
	before := startEngine(t, url, "v1")
	begin(before, "v1")

	way := &switched{Engine: before.tasks}
	w, err := worker.New(way, &worker.Options{Name: "w1", Concurrency: 2 * each})
	if err != nil {
		t.Fatal(err)
	}
	begun, deployed := make(chan struct{}, 2*each), make(chan struct{})
	worker.Handle(w, "transcribe", func(_ worker.Task, version string) (string, error) {
		begun <- struct{}{}
		<-deployed
		return "lines for " + version, nil
	})
	var working sync.WaitGroup
	working.Go(func() {
		if err := w.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	defer working.Wait()
	defer cancel()
	for range each {
		<-begun
	}
	after := startEngine(t, url, "v2")
	begin(after, "v2")
	way.to(after.tasks) // as a worker's next call goes to another engine
	close(deployed)

	for version, e := range map[string]*engine{"v1": before, "v2": after} {
		for i := range each {
			got := await(ctx, t, e, fmt.Sprint(version, "-", i))
			if got.Lines != "lines for "+version || got.Printed != "by "+version {
				t.Errorf("%s %d: %+v", version, i, got)
			}
		}
	}
	before.stop()
	begin(after, "v2-later")
	await(ctx, t, after, "v2-later-0")
	for version, e := range map[string]*engine{"v1": before, "v2": after} {
		if lines := e.errors(); len(lines) > 0 {
			t.Errorf("%s logs %d errors: %s", version, len(lines), lines[0])
		}
	}
}

// await returns a thread's state once it is done.
func await(ctx context.Context, t *testing.T, e *engine, thread string) film {
	t.Helper()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for {
		s, err := e.app.State(ctx, thread)
		if err != nil {
			t.Fatal(err)
		}
		if s.Status == posthouse.StatusDone {
			return s.State
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			t.Fatalf("%s is %s for ever, next %v", thread, s.Status, s.Next)
		}
	}
}

// A switched engine is one of several: calls go to the one that was named last.
type switched struct {
	mu sync.Mutex
	task.Engine
}

func (s *switched) to(e task.Engine) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Engine = e
}

func (s *switched) now() task.Engine {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Engine
}

func (s *switched) Connect(ctx context.Context, h task.Hello) (*task.Session, error) {
	return s.now().Connect(ctx, h)
}

func (s *switched) Claim(ctx context.Context, session string) (*task.Claim, error) {
	return s.now().Claim(ctx, session)
}

func (s *switched) Heartbeat(ctx context.Context, session string, have []task.ClaimID) (*task.Pulse, error) {
	return s.now().Heartbeat(ctx, session, have)
}

func (s *switched) Resolve(ctx context.Context, id task.ClaimID, v task.Verdict) error {
	return s.now().Resolve(ctx, id, v)
}

func (s *switched) Disconnect(ctx context.Context, session string) error {
	return s.now().Disconnect(ctx, session)
}
