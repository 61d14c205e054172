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
	return try(t, func(a *attempt) { h.withDefaults().run(a, c) }).Failed()
}

// An attempt is a test whose failure does not fail the caller's test.
type attempt struct {
	TB
	said strings.Builder // what it was told, for the report

	mu     sync.Mutex
	failed bool
	after  []func()
}

// try runs a test to its end, its clean-up included.
func try(t TB, run func(a *attempt)) *attempt {
	a := &attempt{TB: t}
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
func (a *attempt) cleanup() func(*attempt) {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := len(a.after)
	if n == 0 {
		return nil
	}
	f := a.after[n-1]
	a.after = slices.Delete(a.after, n-1, n)
	return func(*attempt) { f() }
}

func (a *attempt) say(text string, failed bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.said.WriteString("\n  " + text)
	a.failed = a.failed || failed
}

func (a *attempt) Helper()                           {}
func (a *attempt) Logf(format string, args ...any)   { a.say(fmt.Sprintf(format, args...), false) }
func (a *attempt) Error(args ...any)                 { a.say(fmt.Sprint(args...), true) }
func (a *attempt) Errorf(format string, args ...any) { a.say(fmt.Sprintf(format, args...), true) }

func (a *attempt) Fatal(args ...any) {
	a.Error(args...)
	runtime.Goexit()
}

func (a *attempt) Fatalf(format string, args ...any) {
	a.Errorf(format, args...)
	runtime.Goexit()
}

func (a *attempt) Failed() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.failed
}

func (a *attempt) Cleanup(f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.after = append(a.after, f)
}
