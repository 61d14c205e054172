package ledger_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
)

// TestForkWaitsForARun: a fork of a thread while another branch runs is made once that parks.
func TestForkWaitsForARun(t *testing.T) {
	ctx, l := t.Context(), open(t, nil)
	root := must.Get(l.Commit(ctx, &ledger.Draft{Thread: "t", Checkpoint: &posthouse.Change{Status: posthouse.StatusRunning, Next: []string{"n"}}}))(t).Checkpoint.ID
	claim := must.Get(l.Claim(ctx, "t", "run-1"))(t)
	must.Get(l.Commit(ctx, &ledger.Draft{Thread: "t", Claim: claim, Steps: []posthouse.Step{{Task: "1/n", Name: "s"}}}))(t)

	short, stop := context.WithTimeout(ctx, 50*time.Millisecond)
	defer stop()
	if _, err := l.Fork(short, root, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a caller that gave up has %v", err)
	}

	made := make(chan error, 1)
	go func() {
		f, err := l.Fork(ctx, root, nil)
		if err == nil && (f.Branch != "fork-1" || f.Status != posthouse.StatusInterrupted) {
			err = errors.New("it is " + f.Branch + ", " + string(f.Status))
		}
		made <- err
	}()
	select {
	case err := <-made:
		t.Fatalf("the fork did not wait: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	must.Get(l.Commit(ctx, &ledger.Draft{Thread: "t", Claim: claim, Steps: []posthouse.Step{{Task: "1/n", Name: "s", Occurrence: 1}}}))(t)
	must.Do(t, claim.Release(ctx))
	if err := <-made; err != nil {
		t.Fatal(err)
	}
	must.Do(t, must.Get(l.Claim(ctx, "t", "run-2"))(t).Release(ctx)) // the fork gave the thread back
}
