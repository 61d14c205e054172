package conform

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
)

// A test is what the suite needs of package testing, which is not linked. Its methods are
// those of *testing.T.
type test struct {
	suite    *suite
	name     string
	ctx      context.Context
	parallel chan struct{} // closed by Parallel; nil at the root

	mu       sync.Mutex
	failed   bool
	log      []string
	cleanups []func()
}

func (t *test) Name() string             { return t.name }
func (t *test) Context() context.Context { return t.ctx }
func (t *test) Helper()                  {}

func (t *test) Failed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.failed
}

func (t *test) Cleanup(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cleanups = append(t.cleanups, f)
}

func (t *test) TempDir() string {
	dir, err := os.MkdirTemp("", "posthouse-check-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func (t *test) Logf(format string, args ...any) {
	if t.parallel == nil { // the suite says of a case that it does not apply
		t.suite.skipped(format, args)
		return
	}
	t.say(fmt.Sprintf(format, args...), false)
}

func (t *test) Error(args ...any)                 { t.say(fmt.Sprintln(args...), true) }
func (t *test) Errorf(format string, args ...any) { t.say(fmt.Sprintf(format, args...), true) }

func (t *test) Fatal(args ...any) {
	t.Error(args...)
	runtime.Goexit()
}

func (t *test) Fatalf(format string, args ...any) {
	t.Errorf(format, args...)
	runtime.Goexit()
}

func (t *test) say(line string, failed bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.log = append(t.log, strings.TrimRight(line, "\n"))
	t.failed = t.failed || failed
}

func (t *test) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(t.log, "\n")
}

// Run runs a case and returns when it ended, or runs beside others. It reports whether it
// has not failed so far.
func (t *test) Run(name string, f func(*test)) bool {
	c := &test{suite: t.suite, name: name, ctx: t.ctx, parallel: make(chan struct{})}
	ended := make(chan struct{})
	t.suite.running.Go(func() {
		defer close(ended)
		c.do(f)
		c.clean()
		c.leave()
		t.suite.ended(c)
	})
	select {
	case <-ended:
	case <-c.parallel:
	}
	return !c.Failed()
}

// Parallel lets the other cases start, and waits for a seat among those that run.
func (t *test) Parallel() {
	close(t.parallel)
	t.suite.seats <- struct{}{}
}

// leave gives the seat back.
func (t *test) leave() {
	select {
	case <-t.parallel:
		<-t.suite.seats
	default:
	}
}

// do calls f, which may end its goroutine or panic.
func (t *test) do(f func(*test)) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer func() {
			if p := recover(); p != nil {
				t.Errorf("panic: %v\n%s", p, debug.Stack())
			}
		}()
		f(t)
	}()
	<-ended
}

// clean calls what was registered, the last first.
func (t *test) clean() {
	for {
		t.mu.Lock()
		n := len(t.cleanups)
		if n == 0 {
			t.mu.Unlock()
			return
		}
		f := t.cleanups[n-1]
		t.cleanups = t.cleanups[:n-1]
		t.mu.Unlock()
		t.do(func(*test) { f() })
	}
}
