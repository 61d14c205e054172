package ledger_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/store/memstore"
)

// wantField fails the test unless err has the code and names the field.
func wantField(t *testing.T, err error, code *posthouse.Error, field string) {
	t.Helper()
	var e *posthouse.Error
	if !errors.Is(err, code) || !errors.As(err, &e) || e.Field != field {
		t.Errorf("the error is %v, want %s of %q", err, code.Code, field)
	}
}

// TestOptionsAreRefusedByField opens ledgers with options that make no sense.
func TestOptionsAreRefusedByField(t *testing.T) {
	for field, o := range map[string]ledger.Options{
		"MaxState": {MaxState: -1}, "MaxCheckpoints": {MaxCheckpoints: -1}, "LeaseTTL": {LeaseTTL: -time.Second}, "Owner": {Owner: "a b"},
	} {
		_, err := ledger.Open(memstore.New(), &o)
		wantField(t, err, posthouse.ErrInvalid, field)
	}
	_, err := ledger.Open(nil, nil)
	wantField(t, err, posthouse.ErrInvalid, "store")
}

// TestDecisionsAreRefusedByField lists decisions that no gate takes, and ones
// that this gate does not: nothing is recorded, and the gate stays open.
func TestDecisionsAreRefusedByField(t *testing.T) {
	ctx, l := context.Background(), open(t, &ledger.Options{MaxState: 2000, Validate: gate.Validator()})
	done := must.Get(l.Commit(ctx, &ledger.Draft{
		Thread: "t", Checkpoint: &posthouse.Change{Status: posthouse.StatusWaiting},
		Gates: []posthouse.Gate{{Name: "ok?", Schema: json.RawMessage(`{"type":"number"}`)}},
	}))(t)
	type decision = posthouse.Decision
	long, one := strings.Repeat("x", 5000), json.RawMessage(`1`)
	for _, c := range []struct {
		name, field string
		code        *posthouse.Error
		decision
	}{
		{"by nobody", "by", posthouse.ErrInvalid, decision{Verdict: posthouse.Approve}},
		{"by two lines", "by", posthouse.ErrInvalid, decision{Verdict: posthouse.Approve, By: "a\nb"}},
		{"a long actor", "actor", posthouse.ErrInvalid, decision{Verdict: posthouse.Approve, By: "a", Actor: long}},
		{"a long reason", "reason", posthouse.ErrInvalid, decision{Verdict: posthouse.Approve, By: "a", Reason: long}},
		{"a reason in latin-1", "reason", posthouse.ErrInvalid, decision{Verdict: posthouse.Approve, By: "a", Reason: "caf\xe9"}},
		{"no verdict", "verdict", posthouse.ErrInvalid, decision{By: "a"}},
		{"expire, which only the clock says", "verdict", posthouse.ErrInvalid, decision{Verdict: posthouse.Expire, By: "a"}},
		{"a value with approve", "value", posthouse.ErrInvalid, decision{Verdict: posthouse.Approve, By: "a", Value: one}},
		{"an edit without a value", "value", posthouse.ErrInvalid, decision{Verdict: posthouse.Edit, By: "a"}},
		{"a value over the limit", "value", posthouse.ErrTooLarge, decision{Verdict: posthouse.Edit, By: "a", Value: json.RawMessage(long)}},
		{"a value that is no JSON", "value", posthouse.ErrInvalid, decision{Verdict: posthouse.Respond, By: "a", Value: json.RawMessage("{")}},
		{"of something else", "", posthouse.ErrConflict, decision{Verdict: posthouse.Approve, By: "a", Shown: posthouse.Hash{1}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := l.Decide(ctx, done.Gates[0].ID, c.decision)
			wantField(t, err, c.code, c.field)
		})
	}
	if g := must.Get(l.Gate(ctx, done.Gates[0].ID))(t); g.Decision != nil {
		t.Errorf("a refused decision is on record: %+v", g.Decision)
	}
	checked := must.Get(ledger.Open(l.Store(), &ledger.Options{Validate: func(_, value json.RawMessage) error {
		if string(value) != "1" {
			return errors.New("is not 1")
		}
		return nil
	}}))(t)
	_, err := checked.Decide(ctx, done.Gates[0].ID, decision{Verdict: posthouse.Edit, By: "a", Value: json.RawMessage(`2`)})
	wantField(t, err, posthouse.ErrInvalid, "value")
	must.Get(checked.Decide(ctx, done.Gates[0].ID, decision{Verdict: posthouse.Edit, By: "a", Value: one}))(t)
}

// TestDeletesAreRefusedByField checks what a removal record would hold.
func TestDeletesAreRefusedByField(t *testing.T) {
	ctx, l := context.Background(), open(t, nil)
	c := must.Get(l.Save(ctx, posthouse.Root("t", opaque(t, 1)), nil))(t)
	for field, o := range map[string]retain.DeleteOptions{
		"mode": {Mode: "gently"}, "by": {By: strings.Repeat("x", 201)}, "reason": {Reason: "two\nlines"},
	} {
		_, err := retain.Delete(ctx, l, c.ID, &o)
		wantField(t, err, posthouse.ErrInvalid, field)
		_, err = retain.DeleteThread(ctx, l, "t", &o)
		wantField(t, err, posthouse.ErrInvalid, field)
		_, err = retain.DeleteCoordination(ctx, l, "t", &o)
		wantField(t, err, posthouse.ErrInvalid, field)
	}
	_, err := retain.DeleteCoordination(ctx, l, "a\nb", nil)
	wantField(t, err, posthouse.ErrInvalid, "coordination")
	if _, err := l.Get(ctx, c.ID); err != nil {
		t.Error(err)
	}
}

// TestPersonsEverywhere gives each place that takes a person's name one that
// looks like another's.
func TestPersonsEverywhere(t *testing.T) {
	ctx, l := context.Background(), open(t, nil)
	const bad = "al\u200bice"
	ask := func(g posthouse.Gate) error {
		g.Name = "ok?"
		_, err := l.Commit(ctx, &ledger.Draft{Thread: "u", Checkpoint: &posthouse.Change{Status: posthouse.StatusWaiting}, Gates: []posthouse.Gate{g}})
		return err
	}
	c := must.Get(l.Save(ctx, posthouse.Root("t", opaque(t, 1)), nil))(t)
	done := must.Get(l.Commit(ctx, &ledger.Draft{
		Thread: "v", Checkpoint: &posthouse.Change{Status: posthouse.StatusWaiting}, Gates: []posthouse.Gate{{Name: "ok?", Assignees: []string{"alice"}}},
	}))(t)
	gate := done.Gates[0].ID
	at := time.Now().Add(time.Hour)
	approve := func(by, actor string) error {
		_, err := l.Decide(ctx, gate, posthouse.Decision{Verdict: posthouse.Approve, By: by, Actor: actor})
		return err
	}
	delegate := func(d posthouse.Delegation) error { _, err := l.Delegate(ctx, gate, d); return err }
	two := func(_ any, err error) error { return err }
	for i, c := range []struct {
		field string
		err   error
	}{
		{"by", approve(bad, "")}, {"actor", approve("alice", bad)}, {"by", approve("alice ", "")},
		{"by", delegate(posthouse.Delegation{By: bad, To: "bob"})}, {"to", delegate(posthouse.Delegation{By: "alice", To: bad})},
		{"actor", delegate(posthouse.Delegation{By: "alice", To: "bob", Actor: bad})},
		{"requestedBy", ask(posthouse.Gate{RequestedBy: bad})}, {"assignees", ask(posthouse.Gate{Assignees: []string{"bob", bad}})},
		{"assignees", ask(posthouse.Gate{Assignees: []string{""}})},
		{"escalation", ask(posthouse.Gate{Assignees: []string{"bob"}, Escalation: &posthouse.Escalation{At: at, To: []string{bad}}})},
		{"by", two(l.Commit(ctx, &ledger.Draft{Thread: "u", Checkpoint: &posthouse.Change{Status: posthouse.StatusDone, By: bad}}))},
		{"by", two(l.Fork(ctx, c.ID, &ledger.ForkOptions{By: bad}))}, {"by", two(l.Cancel(ctx, "v", &ledger.CancelOptions{By: bad}))},
		{"by", two(l.Signal(ctx, "t", posthouse.Signal{Name: "go", By: bad}))}, {"by", two(l.Release(ctx, "t", &ledger.ReleaseOptions{By: bad}))},
		{"by", two(retain.Delete(ctx, l, c.ID, &retain.DeleteOptions{By: bad}))},
	} {
		if e := (*posthouse.Error)(nil); !errors.As(c.err, &e) || e.Code != posthouse.CodeInvalid || e.Field != c.field {
			t.Errorf("%d: %v, want invalid %s", i, c.err, c.field)
		}
	}
}

// TestSecureLetsOneBegin has two processes claim a thread before either wrote:
// the first that secures its claim acts, the other is told so before it does.
func TestSecureLetsOneBegin(t *testing.T) {
	ctx, store := context.Background(), memstore.New()
	a := must.Get(ledger.Open(store, nil))(t)
	b := must.Get(ledger.Open(store, nil))(t)
	ca := must.Get(a.Claim(ctx, "t", "a"))(t)
	cb := must.Get(b.Claim(ctx, "t", "b"))(t)
	if wrote, err := ca.Persist(ctx); err != nil || !wrote {
		t.Fatalf("the first: wrote %v, %v", wrote, err)
	}
	if wrote, err := ca.Persist(ctx); err != nil || wrote {
		t.Errorf("a second time: wrote %v, %v", wrote, err)
	}
	if _, err := cb.Persist(ctx); !errors.Is(err, posthouse.ErrBusy) {
		t.Errorf("the other: %v, want ErrBusy", err)
	}
	if err := errors.Join(cb.Release(ctx), ca.Release(ctx)); err != nil {
		t.Fatal(err)
	}
	must.Get(b.Claim(ctx, "t", "b again"))(t)
	if _, err := a.Claim(ctx, "t", "two\nlines"); !errors.Is(err, posthouse.ErrInvalid) {
		t.Errorf("a run on two lines: %v", err)
	}
}
