package ledger_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/transfer"
)

// TestAGateThatNobodyCanCheckIsNotOpened opens gates with schemas over a ledger
// without a validator: it is told where it is asked, and not at the decision.
func TestAGateThatNobodyCanCheckIsNotOpened(t *testing.T) {
	ctx := context.Background()
	asks := func(l *ledger.Ledger, thread string, verdicts ...posthouse.Verdict) (*posthouse.Committed, error) {
		return l.Commit(ctx, &ledger.Draft{
			Thread: thread, Checkpoint: &posthouse.Change{Status: posthouse.StatusWaiting, Parts: []posthouse.Part{{Name: "n", Data: []byte("1")}}},
			Gates: []posthouse.Gate{{Name: "ok?", Schema: json.RawMessage(`{"type":"number"}`), Verdicts: verdicts}},
		})
	}
	l := open(t, &ledger.Options{Validate: gate.Validator()})
	done, err := asks(l, "asked")
	if err != nil {
		t.Fatal(err)
	}
	if l, err = ledger.Open(l.Store(), nil); err != nil {
		t.Fatal(err)
	}
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
		"copy": func() error { _, err := transfer.CopyThread(ctx, l, "asked", "copied", nil); return err }(),
	} {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}
