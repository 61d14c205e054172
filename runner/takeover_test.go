package runner_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine/session"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runner"
	"github.com/posthouse/posthouse/store/memstore"
)

// TestTakesOverWithinFiveSeconds ends a process at many moments after its claim, with
// claims at many moments between the sweeps of another. By default that goes on within
// five seconds of the end.
func TestTakesOverWithinFiveSeconds(t *testing.T) {
	const step = 130 * time.Millisecond
	longest := time.Duration(0)
	for phase := time.Duration(0); phase < time.Second; phase += step {
		for lived := time.Duration(0); lived < 1300*time.Millisecond; lived += step {
			synctest.Test(t, func(t *testing.T) {
				store := memstore.New()
				var went time.Time
				b := &program{name: "p", l: open(t, store, "b"), last: 1, node: func(context.Context, string, int) error {
					went = time.Now()
					return nil
				}}
				run(t, b.l, runner.Options{Programs: []posthouse.Program{b}})
				sleep(phase)
				a := &program{name: "p", l: open(t, store, "a"), last: 1}
				s, err := session.Begin(t.Context(), a.l, session.Options{Thread: "t"})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := s.Commit(t.Context(), &ledger.Draft{Checkpoint: &posthouse.Change{
					Kind: posthouse.KindInput, Status: posthouse.StatusRunning, Graph: "p", Next: []string{"1"},
				}}); err != nil {
					t.Fatal(err)
				}
				sleep(lived)
				if err := a.l.Close(); err != nil { // the last that is heard of it
					t.Fatal(err)
				}
				ended := time.Now()
				sleep(10 * time.Second)
				took := went.Sub(ended)
				longest = max(longest, took)
				if went.IsZero() || took > 5*time.Second {
					t.Errorf("a claim of %v, %v before: gone on after %v", lived, phase, took)
				}
			})
		}
	}
	t.Log("the longest:", longest)
}
