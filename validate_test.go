package posthouse_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
)

// TestAGateThatNobodyCanCheckIsNotOpened opens gates with schemas over a ledger
// without a validator: it is told where it is asked, and not at the decision.
func TestAGateThatNobodyCanCheckIsNotOpened(t *testing.T) {
	ctx := context.Background()
	asks := func(l *posthouse.Ledger, thread string, verdicts ...posthouse.Verdict) (*posthouse.Committed, error) {
		return l.Commit(ctx, &posthouse.Draft{
			Thread: thread, Checkpoint: &posthouse.Change{Status: posthouse.StatusWaiting, Parts: []posthouse.Part{{Name: "n", Data: []byte("1")}}},
			Gates: []posthouse.Gate{{Name: "ok?", Schema: json.RawMessage(`{"type":"number"}`), Verdicts: verdicts}},
		})
	}
	l := open(t, &posthouse.Options{Validate: gate.Validator()})
	done, err := asks(l, "asked")
	if err != nil {
		t.Fatal(err)
	}
	posthouse.DropValidator(l)
	var e *posthouse.Error
	if _, err := asks(l, "t"); !errors.As(err, &e) || e.Code != posthouse.CodeUnsupported || e.Field != "schema" || e.Hint == "" {
		t.Errorf("asked by a ledger that cannot check: %v", err)
	}
	if _, err := asks(l, "t", posthouse.Approve, posthouse.Reject); err != nil {
		t.Errorf("without values there is nothing to check: %v", err)
	}
	if _, err := l.Decide(ctx, done.Gates[0].ID, posthouse.Decision{Verdict: posthouse.Edit, By: "a", Value: []byte("1")}); !errors.Is(err, posthouse.ErrUnsupported) {
		t.Errorf("decided by a ledger that cannot check: %v", err)
	}
	for what, err := range map[string]error{
		"fork": func() error { _, err := l.Fork(ctx, done.Checkpoint.ID, nil); return err }(),
		"copy": func() error { _, err := l.CopyThread(ctx, "asked", "copied", nil); return err }(),
	} {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}
