package ledger_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/transfer"
)

// TestGateWithoutAValidatorIsNotOpened opens gates with schemas over a ledger
// without a validator: it is told where it is asked, and not at the decision.
func TestGateWithoutAValidatorIsNotOpened(t *testing.T) {
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
	l, err = ledger.Open(l.Store(), nil)
	if err != nil {
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

// TestACostlySchemaIsRefusedWhereItIsAsked: who answers is not who pays for it.
func TestACostlySchemaIsRefusedWhereItIsAsked(t *testing.T) {
	ctx, l := context.Background(), open(t, &ledger.Options{Validate: gate.Validator()})
	var doubled strings.Builder
	doubled.WriteString(`{"$ref":"#/$defs/d40","$defs":{"d0":{"type":"integer"}`)
	for i := range 40 {
		fmt.Fprintf(&doubled, `,"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, i+1, i, i)
	}
	doubled.WriteString("}}")
	for name, schema := range map[string]string{"alternatives": doubled.String(), "repetitions": `{"pattern":"((a{100}){100}){10}"}`, "no schema": `{"type":7}`} {
		_, err := l.Commit(ctx, &ledger.Draft{
			Thread: "t", Checkpoint: &posthouse.Change{Status: posthouse.StatusWaiting, Parts: []posthouse.Part{{Name: "n", Data: []byte("1")}}},
			Gates: []posthouse.Gate{{Name: "ok?", Schema: json.RawMessage(schema)}},
		})
		var e *posthouse.Error
		if !errors.As(err, &e) || e.Code != posthouse.CodeInvalid || e.Field != "schema" || e.Hint == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := l.Thread(ctx, "t"); !errors.Is(err, posthouse.ErrNotFound) {
		t.Errorf("something was written: %v", err)
	}
}

// TestSlowCheckLeavesTheThreadFree: while a value is checked against a schema, the gate is rejected
// and the thread cancelled.
func TestSlowCheckLeavesTheThreadFree(t *testing.T) {
	ctx := context.Background()
	begun, goOn := make(chan struct{}), make(chan struct{})
	l := open(t, &ledger.Options{Validate: func(_, value json.RawMessage) error {
		if string(value) == "42" {
			begun <- struct{}{}
			<-goOn
		}
		return nil
	}})
	done, err := l.Commit(ctx, &ledger.Draft{
		Thread: "t", Checkpoint: &posthouse.Change{Status: posthouse.StatusWaiting, Parts: []posthouse.Part{{Name: "n", Data: []byte("1")}}},
		Gates: []posthouse.Gate{{Name: "ok?", Schema: json.RawMessage(`{"type":"number"}`)}, {Name: "too?", Schema: json.RawMessage(`{"type":"number"}`)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	late := make(chan error)
	go func() {
		_, err := l.Decide(ctx, done.Gates[0].ID, posthouse.Decision{Verdict: posthouse.Edit, By: "alice", Value: []byte("42")})
		late <- err
	}()
	<-begun
	if _, err := l.Decide(ctx, done.Gates[0].ID, posthouse.Decision{Verdict: posthouse.Reject, By: "bob"}); err != nil {
		t.Errorf("a rejection: %v", err)
	}
	if _, err := l.Cancel(ctx, "t", nil); err != nil {
		t.Errorf("a request to cancel: %v", err)
	}
	close(goOn)
	if err := <-late; !errors.Is(err, posthouse.ErrDecided) {
		t.Errorf("the late one: %v", err)
	}
}

// TestSlowSchemaLeavesTheThreadFree: while a validator looks at a new question's schema, the
// thread's other question is decided, and the thread cancelled.
func TestSlowSchemaLeavesTheThreadFree(t *testing.T) {
	ctx := context.Background()
	begun, goOn := make(chan struct{}), make(chan struct{})
	l := open(t, &ledger.Options{Validate: func(schema, _ json.RawMessage) error {
		if string(schema) == `{"slow":1}` {
			begun <- struct{}{}
			<-goOn
		}
		return nil
	}})
	draft := func(schema string) *ledger.Draft {
		return &ledger.Draft{
			Thread: "t", Checkpoint: &posthouse.Change{Status: posthouse.StatusWaiting, Parts: []posthouse.Part{{Name: "n", Data: []byte("1")}}},
			Gates: []posthouse.Gate{{Name: "ok?", Schema: json.RawMessage(schema)}},
		}
	}
	done, err := l.Commit(ctx, draft(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	late := make(chan error)
	go func() {
		d := draft(`{"slow":1}`)
		d.Branch = "main"
		_, err := l.Commit(ctx, d)
		late <- err
	}()
	<-begun
	decided := make(chan error)
	go func() {
		_, err := l.Decide(ctx, done.Gates[0].ID, posthouse.Decision{Verdict: posthouse.Reject, By: "bob"})
		decided <- err
	}()
	select {
	case err := <-decided:
		if err != nil {
			t.Error(err)
		}
		close(goOn)
	case <-time.After(10 * time.Second):
		t.Error("a rejection waits for the schema of another question")
		close(goOn)
		<-decided
	}
	if err := <-late; err != nil {
		t.Errorf("the slow one: %v", err)
	}
}
