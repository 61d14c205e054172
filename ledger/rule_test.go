package ledger_test

import (
	"bytes"
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
)

func refuse(name string, check func(*posthouse.Proposal) error) *ledger.Options {
	return &ledger.Options{Rules: []posthouse.Rule{{
		Name: name, Check: func(_ context.Context, p *posthouse.Proposal) error { return check(p) },
	}}}
}

// TestARuleRefusesBeforeAnythingIsWritten saves what a rule refuses, by every
// way in: the log stays as it was, and what comes after is as if nothing had been.
func TestARuleRefusesBeforeAnythingIsWritten(t *testing.T) {
	ctx := context.Background()
	cause := errors.New("no node")
	l := open(t, refuse("node required", func(p *posthouse.Proposal) error {
		if p.Header != nil && p.Header.Node == "" {
			return cause
		}
		if len(p.Gates) > 0 && p.Gates[0].ID == "" || len(p.Steps) > 0 && p.Steps[0].Name == "bad" {
			return cause
		}
		return nil
	}))
	root := posthouse.Root("t", opaque(t, "v1"))
	root.Node = "a"
	first := must.Get(l.Save(ctx, root, nil))(t)
	before := must.Get(l.Thread(ctx, "t"))(t).Tail
	refused := func(err error) {
		t.Helper()
		wantField(t, err, posthouse.ErrInvalid, "rule node required")
		if !errors.Is(err, cause) {
			t.Errorf("%v does not wrap the rule's error", err)
		}
		if now := must.Get(l.Thread(ctx, "t"))(t).Tail; now != before {
			t.Errorf("the log went from %d to %d", before.Seq, now.Seq)
		}
	}
	_, err := l.Save(ctx, posthouse.Root("t", opaque(t, "v2")), nil)
	refused(err)
	_, err = l.Save(ctx, first.Derive(opaque(t, "v2")), nil)
	refused(err)
	_, err = l.Commit(ctx, &ledger.Draft{Thread: "t", Steps: []posthouse.Step{{Name: "bad", Value: posthouse.Value{Data: []byte("1")}}}})
	refused(err)
	done := must.Get(l.Commit(ctx, &ledger.Draft{
		Thread: "t", Gates: []posthouse.Gate{{Name: "ok?"}},
		Checkpoint: &posthouse.Change{Node: "b", Status: posthouse.StatusWaiting},
	}))(t)
	if done.Checkpoint.Parent != first.ID || done.Seq != before.Seq+1 {
		t.Errorf("what passes after a refusal is %+v", done)
	}
}

// TestAPanickingRuleIsARefusal panics in a rule: an error, no crash, and the
// thread can be used again.
func TestAPanickingRuleIsARefusal(t *testing.T) {
	ctx, on := context.Background(), true
	l := open(t, refuse("shaky", func(*posthouse.Proposal) error {
		if on {
			panic("boom")
		}
		return nil
	}))
	_, err := l.Save(ctx, posthouse.Root("t", opaque(t, 1)), nil)
	wantField(t, err, posthouse.ErrInvalid, "rule shaky")
	if err != nil && !strings.Contains(err.Error(), "boom") {
		t.Errorf("the error does not say what panicked: %v", err)
	}
	on = false
	must.Get(l.Save(ctx, posthouse.Root("t", opaque(t, 1)), nil))(t)
}

func TestAProposalEndsWithItsCommit(t *testing.T) {
	var kept *posthouse.Proposal
	l := must.Get(ledger.Open(memstore.New(), refuse("keep", func(p *posthouse.Proposal) error {
		kept = p
		return nil
	})))(t)
	must.Get(l.Save(t.Context(), posthouse.Root("t", opaque(t, 1)), nil))(t)
	if c, err := kept.Checkpoint(); !errors.Is(err, posthouse.ErrInvalid) {
		t.Errorf("after the commit: %v, %v", c, err)
	}
}

// TestARuleSeesWhatWillBeReadBack compares, over splices, drops, kept parts,
// metadata and parts too large to be remembered, what a rule was shown with what
// is then on record.
func TestARuleSeesWhatWillBeReadBack(t *testing.T) {
	ctx := context.Background()
	var shown *posthouse.Checkpoint
	o := refuse("look", func(p *posthouse.Proposal) (err error) {
		shown, err = p.Checkpoint()
		return err
	})
	store := memstore.New()
	l := must.Get(ledger.Open(store, o))(t)
	huge := bytes.Repeat([]byte("0123456789abcdef"), 100_000) // more than a Ledger remembers of a part
	raw := func(s string) []byte { return []byte(s) }
	for i, c := range []*posthouse.Change{
		{State: posthouse.State{"a": {Codec: "json", Data: raw(`[1,2]`)}, "b": {Codec: "raw", Data: huge}, "c": {Codec: "json", Data: raw("3")}}},
		{Parts: []posthouse.Part{{Name: "a", Splice: true, Prefix: 4, Suffix: 1, Data: raw(",3")}}, Metadata: map[string]string{"k": "v"}},
		{Parts: []posthouse.Part{{Name: "b", Codec: "raw", Splice: true, Prefix: len(huge), Data: raw("tail")}, {Name: "c", Drop: true}}},
		{Parts: []posthouse.Part{{Name: "d", Data: raw("4")}}, Program: []posthouse.Part{{Name: "$plan", Data: raw("{}")}}},
		{State: posthouse.State{"a": {Codec: "json", Data: raw("null")}}, Metadata: map[string]string{}},
	} {
		if i%2 == 1 {
			l = must.Get(ledger.Open(store, o))(t) // with nothing in memory
		}
		done := must.Get(l.Commit(ctx, &ledger.Draft{Thread: "t", Checkpoint: c}))(t)
		have := must.Get(l.Get(ctx, done.Checkpoint.ID))(t)
		if !reflect.DeepEqual(shown.State, have.State) || !reflect.DeepEqual(shown.Metadata, have.Metadata) || !reflect.DeepEqual(shown.Program, have.Program) {
			t.Errorf("commit %d was shown as another state than it has", i)
		}
		if shown.ID != have.ID || shown.Parent != have.Parent || shown.Size != have.Size {
			t.Errorf("commit %d was shown as %+v, and is %+v", i, shown.Header, have.Header)
		}
	}
}

// TestRulesAreChecked opens ledgers with malformed rules.
func TestRulesAreChecked(t *testing.T) {
	check := func(context.Context, *posthouse.Proposal) error { return nil }
	for _, r := range []posthouse.Rule{{}, {Name: "x"}, {Check: check}, {Name: "a\nb", Check: check}} {
		_, err := ledger.Open(memstore.New(), &ledger.Options{Rules: []posthouse.Rule{r}})
		wantField(t, err, posthouse.ErrInvalid, "Rules")
	}
}
