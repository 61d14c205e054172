package faults

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/site"
	"github.com/posthouse/posthouse/ledger"
)

// remote are the kinds of stores that are reached over a network.
var remote = []string{"postgres", "redis", "nats", "s3"}

const latency, jitter = 2 * time.Second, 300 * time.Millisecond // of an answer

// eachRemote has a test for every kind: with the URL of a store, and with one by way of a line.
func eachRemote(t *testing.T, test func(t *testing.T, direct, through string, l *line)) {
	for _, name := range remote {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name != "redis" {
				t.Skip("the harness is the same for each store")
			}
			k := site.Find(name)
			if !k.Installed() {
				if os.Getenv("POSTHOUSE_REQUIRE_SERVICES") == "" {
					t.Skipf("no %s is installed", name)
				}
				t.Fatalf("no %s is installed", name)
			}
			t.Parallel() // most of the time all wait
			s, err := k.Start(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(s.Close)
			l := newLine(t, first(s.Addr()), second(s.Addr()))
			test(t, s.URL("desk", ""), s.URL("desk", l.Addr().String()), l)
		})
	}
}

func first(a, _ string) string  { return a }
func second(_, b string) string { return b }

// TestSlowNetwork has each answer of a server arrive 2 to 2.3 s late. Writers that come together
// do not wait for each other, callers who read wait no longer than their patience, and those
// who write hear the outcome, or that it is not known, within the store's own time. Then
// they may ask again: nothing is lost, nor written twice.
func TestSlowNetwork(t *testing.T) {
	t.Parallel()
	eachRemote(t, func(t *testing.T, _, through string, l *line) {
		c, err := newClient(t.Context(), target{URL: through})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := c.store.Close(); err != nil {
				t.Error(err)
			}
		}()
		written := func(when string) {
			t.Helper()
			for _, r := range c.write(t.Context(), 16, 100, 0) {
				if r.Code != "" {
					t.Errorf("%s, a write: %q after %v", when, r.Code, r.Took)
				}
			}
		}
		written("before")
		l.slow(latency, jitter)
		opened := make(chan error, 1)
		go func() { opened <- openSlowly(t.Context(), through) }()
		begun := time.Now()
		written("slow")
		took := time.Since(begun)
		t.Logf("16 writers took %v", took.Round(10*time.Millisecond))
		if took < latency || took > 10*latency {
			t.Errorf("16 writers took %v, want %v to %v", took, latency, 10*latency)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		begun = time.Now()
		for _, err = range c.store.Read(ctx, "t0", posthouse.Range{}) {
		}
		if took := time.Since(begun); took > latency || err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a read for %v took %v: %v", 200*time.Millisecond, took, err)
		}
		for _, r := range c.write(t.Context(), 4, 100, 200*time.Millisecond) {
			if r.Took > 15*time.Second || r.Code != "" && r.Code != "unknown" && r.Code != "deadline" {
				t.Errorf("a caller whose patience ends: %q after %v", r.Code, r.Took)
			}
		}
		l.slow(latency/3, jitter) // opening is many calls
		if err := <-opened; err != nil {
			t.Error(err)
		}
		l.slow(0, 0)
		written("afterwards")
		for _, wrong := range c.sound(t.Context()) {
			t.Error(wrong)
		}
	})
}

// openSlowly opens a store over a slow network. Who does gets it, or hears that it is not
// available: nothing that comes late is taken for lost.
func openSlowly(ctx context.Context, url string) error {
	s, err := site.Open(ctx, url, 0)
	switch {
	case err == nil:
		return s.Close()
	case errors.Is(err, posthouse.ErrUnavailable):
		return nil
	}
	return fmt.Errorf("opening it: %w", err)
}

// TestLeaseOverASlowNetwork has a process run a thread with the default lease over a network.
// If its calls take no longer than the 2 s that a lease allows, no other process takes the
// thread. Where answers alone take 2 to 2.3 s, and a call is several of them, it keeps the
// thread or loses it: then its work is not recorded, and the other's is. Once it is gone
// another takes the thread.
func TestLeaseOverASlowNetwork(t *testing.T) {
	t.Parallel()
	eachRemote(t, func(t *testing.T, direct, through string, l *line) {
		far, near := openLedger(t, through, "far"), openLedger(t, direct, "near")
		claim, err := far.Claim(t.Context(), "t", "run-1")
		if err != nil {
			t.Fatal(err)
		}
		tick := time.NewTicker(near.Core().Config.RenewEvery())
		defer tick.Stop()
		taken := func(within time.Duration) *ledger.Claim {
			t.Helper()
			for begun := time.Now(); time.Since(begun) < within; <-tick.C {
				if c, err := near.Claim(t.Context(), "t", "run-2"); err == nil {
					t.Logf("taken after %v", time.Since(begun))
					return c
				} else if !errors.Is(err, posthouse.ErrBusy) {
					t.Fatal(err)
				}
			}
			return nil
		}
		do := func(by *ledger.Ledger, c *ledger.Claim, n uint32) error {
			_, err := by.Commit(t.Context(), &ledger.Draft{Thread: "t", Claim: c, Steps: []posthouse.Step{{Task: "1/n", Name: "s", Occurrence: n}}})
			return err
		}
		if err := do(far, claim, 0); err != nil {
			t.Fatal(err)
		}
		const answers = 300 * time.Millisecond
		l.slow(answers, answers/5)
		if taken(5*time.Second) != nil {
			t.Fatalf("with answers after %v it is taken from a process that runs it", answers)
		}
		if err := do(far, claim, 1); err != nil {
			t.Errorf("with answers after %v: %v", answers, err)
		}
		l.slow(latency, jitter)
		other := taken(6 * time.Second)
		if other != nil {
			if err := do(near, other, 2); err != nil {
				t.Error(err)
			}
		}
		err = do(far, claim, 2)
		l.slow(0, 0)
		if errors.Is(err, posthouse.ErrUnavailable) || errors.Is(err, posthouse.ErrUnknown) { // the answer came too late
			err = do(far, claim, 2)
		}
		if other != nil {
			if !errors.Is(err, posthouse.ErrFenced) {
				t.Errorf("the run that lost its thread: %v", err)
			}
			return
		}
		if err != nil {
			t.Errorf("the run that kept its thread: %v", err)
		}
		if err := far.Close(); err != nil {
			t.Error(err)
		}
		if taken(30*time.Second) == nil {
			t.Error("the thread of a process that is gone is not taken")
		}
	})
}

func openLedger(t *testing.T, url, owner string) *ledger.Ledger {
	t.Helper()
	store, err := site.Open(t.Context(), url, 0)
	if err != nil {
		t.Fatal(err)
	}
	l, err := ledger.Open(store, &ledger.Options{Owner: owner})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = l.Close(), store.Close() })
	return l
}
