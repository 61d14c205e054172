package demo

import (
	"context"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/dispatch"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/task/deadletter"
)

// TestWorkersOfTheDemo take the recordings of the week: one fails for good, one waits, and one is
// under way until the demo ends.
func TestWorkersOfTheDemo(t *testing.T) {
	l := filled(t, time.Now(), 1, ledger.Options{})
	d := must.Get(dispatch.New(l, nil))(t)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	go func() { ended <- d.Run(ctx) }()
	go func() { ended <- Work(ctx, d) }()
	defer func() {
		stop()
		for range 2 {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	}()
	reason := ""
	for e, err := range l.Watch(ctx, ledger.WatchQuery{Thread: "task-call-2292"}) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Decision != nil {
			reason = e.Decision.Reason
			break
		}
	}
	if reason != "the recording is silent: no speech in 48 minutes" {
		t.Errorf("it fails because %s", reason)
	}
	opened := 0 // the second gate of the task is its pause
	for e, err := range l.Watch(ctx, ledger.WatchQuery{Thread: "task-call-2295"}) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Gate != nil {
			opened++
		}
		if opened == 2 {
			break
		}
	}
	if w := must.Get(d.Workers(ctx))(t); len(w) != 2 {
		t.Errorf("%d workers", len(w))
	}
}

// TestLettersOfTheDemo are sent again if they are hints, and can be taken out.
func TestLettersOfTheDemo(t *testing.T) {
	box := Letters()
	all := must.Get(box.Letters(t.Context(), 10))(t)
	if len(all) != 2 {
		t.Fatalf("%d letters", len(all))
	}
	for _, l := range all {
		err := box.Replay(t.Context(), l.ID)
		if l.Kind == deadletter.Hint {
			must.Do(t, err)
			continue
		}
		must.Fail(t, err, posthouse.ErrUnsupported)
		must.Do(t, box.Remove(t.Context(), l.ID))
	}
	if left := must.Get(box.Letters(t.Context(), 10))(t); len(left) != 0 {
		t.Errorf("%d letters are left", len(left))
	}
}
