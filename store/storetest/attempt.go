package storetest

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
)

// Fails runs a case and reports whether it failed, without failing t. Tests of a
// suite use it: a store with a known fault must fail the case for it.
func (h Harness) Fails(t TB, c Case) bool {
	t.Helper()
	return h.Try(t, c).Failed()
}

// Try runs a case as [Try] does.
func (h Harness) Try(t TB, c Case) *Attempt {
	return Try(t, func(t TB) { h.withDefaults().run(t, c) })
}

// An Attempt is a test that may fail without failing the caller's test.
type Attempt struct {
	TB
	said strings.Builder // what it was told, for the report

	mu     sync.Mutex
	failed bool
	after  []func()
}

// Try runs a test to its end, its clean-up included.
func Try(t TB, run func(t TB)) *Attempt {
	a := &Attempt{TB: t}
	for f := run; f != nil; f = a.cleanup() {
		done := make(chan struct{})
		go func() {
			defer close(done)
			defer func() {
				if p := recover(); p != nil {
					a.Errorf("panic: %v\n%s", p, debug.Stack())
				}
			}()
			f(a)
		}()
		<-done
	}
	return a
}

// cleanup returns the next function to run at the end, nil after the last.
func (a *Attempt) cleanup() func(TB) {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := len(a.after)
	if n == 0 {
		return nil
	}
	f := a.after[n-1]
	a.after = slices.Delete(a.after, n-1, n)
	return func(TB) { f() }
}

func (a *Attempt) say(text string, failed bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.said.WriteString("\n  " + text)
	a.failed = a.failed || failed
}

func (a *Attempt) Helper()                           {}
func (a *Attempt) Logf(format string, args ...any)   { a.say(fmt.Sprintf(format, args...), false) }
func (a *Attempt) Error(args ...any)                 { a.say(fmt.Sprint(args...), true) }
func (a *Attempt) Errorf(format string, args ...any) { a.say(fmt.Sprintf(format, args...), true) }

func (a *Attempt) Fatal(args ...any) {
	a.Error(args...)
	runtime.Goexit()
}

func (a *Attempt) Fatalf(format string, args ...any) {
	a.Errorf(format, args...)
	runtime.Goexit()
}

func (a *Attempt) Failed() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.failed
}

func (a *Attempt) Cleanup(f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.after = append(a.after, f)
}

// Said returns what the test was told, a line for each message.
func (a *Attempt) Said() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.said.String()
}
