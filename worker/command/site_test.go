//go:build unix

package command_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/dispatch"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runner"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/worker"
	"github.com/posthouse/posthouse/worker/command"
)

// A site is an engine with a program that has a task as its one step, and a worker.
type site struct {
	*testing.T
	l     *ledger.Ledger
	app   *flow.App[string, any]
	work  func() (leave func() error) // starts another worker
	leave func() error                // stops the worker, which drains

	chunks chan string
}

// newSite starts a site with a worker that runs a program for each execution.
func newSite(t *testing.T, name string, grace time.Duration) *site {
	t.Helper()
	l, err := ledger.Open(memstore.New(), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := &site{T: t, l: l, chunks: make(chan string, 10)}
	f := flow.New("f", func(ctx context.Context, in string) (any, error) { return step.Remote[any](ctx, "do", "work", in) })
	s.app, err = f.Open(l, nil)
	if err != nil {
		t.Fatal(err)
	}
	d, err := dispatch.New(l, &dispatch.Options{
		Poll:   20 * time.Millisecond,
		Stream: func(_ context.Context, _, _ string, chunk []byte) { s.chunks <- string(chunk) },
	})
	if err != nil {
		t.Fatal(err)
	}
	r, err := runner.New(l, &runner.Options{Programs: []posthouse.Program{s.app}})
	if err != nil {
		t.Fatal(err)
	}
	s.start(d.Run)
	s.start(r.Run)
	s.work = func() (leave func() error) {
		w, err := worker.New(d, &worker.Options{Name: "w", DrainTimeout: grace})
		if err != nil {
			t.Fatal(err)
		}
		w.HandleFunc("work", program(t, name, command.Options{DrainTimeout: time.Second}).Handle)
		return s.start(w.Run)
	}
	s.leave = s.work()
	return s
}

func (s *site) start(fn func(context.Context) error) (stop func() error) {
	ctx, cancel := context.WithCancel(s.Context())
	ended := make(chan error, 1)
	go func() { ended <- fn(ctx) }()
	stop = func() error {
		cancel()
		err := <-ended
		ended <- nil
		return err
	}
	s.Cleanup(func() {
		if err := stop(); err != nil {
			s.Error(err)
		}
	})
	return stop
}

// begin begins a thread.
func (s *site) begin(thread, in string) {
	s.Helper()
	if _, err := s.app.Run(s.Context(), thread, in); err != nil {
		s.Fatal(err)
	}
}

// output waits for the end of a thread, and returns its output.
func (s *site) output(thread string) string {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), time.Minute)
	defer cancel()
	for ev, err := range s.l.Watch(ctx, ledger.WatchQuery{Thread: thread}) {
		if err != nil {
			s.Fatal(err)
		}
		if ev.Checkpoint != nil && (ev.Checkpoint.Status == posthouse.StatusDone || ev.Checkpoint.Status == posthouse.StatusFailed) {
			break
		}
	}
	res, err := s.app.Result(s.Context(), thread)
	if err != nil {
		s.Fatal(err)
	}
	return fmt.Sprint(res.Output)
}

// TestKilledProgramGoesOn: no item of 100 is done twice, though the program is killed at
// item 73.
func TestKilledProgramGoesOn(t *testing.T) {
	s := newSite(t, "items", time.Second)
	file := filepath.Join(t.TempDir(), "witness")
	s.begin("t", file)
	if out := s.output("t"); out != "2" {
		t.Errorf("it was done in attempt %s", out)
	}
	var want strings.Builder
	for i := range 100 {
		fmt.Fprintln(&want, i)
	}
	if have, err := os.ReadFile(file); err != nil || string(have) != want.String() {
		t.Errorf("got %s, error %v", have, err)
	}
}

// TestPauseAndContinue: a program pauses, goes on, and has three iterations.
func TestPauseAndContinue(t *testing.T) {
	s := newSite(t, "loop", time.Second)
	s.begin("t", "")
	if out := s.output("t"); out != `"nap0"1` {
		t.Error(out)
	}
}

// TestRetryAfter: the next attempt knows why there is one, sends a signal and streams.
func TestRetryAfter(t *testing.T) {
	s := newSite(t, "retries", time.Second)
	s.begin("t", "")
	if out := s.output("t"); out != "busy" {
		t.Error(out)
	}
	signals := 0
	for entry, err := range s.l.Log(t.Context(), "t", posthouse.Range{}) {
		if err != nil {
			t.Fatal(err)
		}
		for _, ev := range entry.Events {
			if ev.Signal != nil && ev.Signal.Name == "paid" && string(ev.Signal.Value) == `"busy"` {
				signals++
			}
		}
	}
	if signals != 1 {
		t.Errorf("%d signals", signals)
	}
	if chunk := <-s.chunks; chunk != `"nearly"` {
		t.Errorf("%s was streamed", chunk)
	}
}

// TestDrain: a worker that stops asks its programs to end. A verdict that one still gives
// counts.
func TestDrain(t *testing.T) {
	s := newSite(t, "obliging", 2*time.Second)
	s.begin("t", "")
	<-s.chunks
	if err := s.leave(); err != nil {
		t.Error(err)
	}
	if out := s.output("t"); out != "in time" {
		t.Error(out)
	}
}

// TestAProgramSavesWhenItIsToEnd: the next execution has what it saved then.
func TestAProgramSavesWhenItIsToEnd(t *testing.T) {
	s := newSite(t, "thrifty", 2*time.Second)
	s.begin("t", "")
	<-s.chunks
	if err := s.leave(); err != nil {
		t.Error(err)
	}
	s.work()
	if out := s.output("t"); out != "row 7" {
		t.Errorf("%q was saved", out)
	}
}
