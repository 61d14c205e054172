package ledger_test

import (
	"context"
	"errors"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
)

// A program's own parts stay out of the state, survive edits of the state, and go
// along with forks.
func TestProgramParts(t *testing.T) {
	ctx := context.Background()
	l, err := ledger.Open(memstore.New(), nil)
	if err != nil {
		t.Fatal(err)
	}
	commit := func(c posthouse.Change) *posthouse.Header {
		t.Helper()
		done, err := l.Commit(ctx, &ledger.Draft{Thread: "t", Checkpoint: &c})
		if err != nil {
			t.Fatal(err)
		}
		return done.Checkpoint
	}
	plan := func(id posthouse.ID) string {
		t.Helper()
		c, err := l.Get(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := c.State["$plan"]; ok {
			t.Fatal("the state shows $plan")
		}
		return string(c.Program["$plan"].Data)
	}
	first := commit(posthouse.Change{
		Parts:   []posthouse.Part{{Name: "a", Data: []byte(`1`)}},
		Program: []posthouse.Part{{Name: "$plan", Data: []byte(`["x"]`)}},
	})
	if first.Size != 1 || plan(first.ID) != `["x"]` {
		t.Fatal(first.Size, plan(first.ID))
	}
	edited := commit(posthouse.Change{State: posthouse.State{"b": {Codec: "json", Data: []byte(`2`)}}})
	if plan(edited.ID) != `["x"]` {
		t.Fatal("an edit of the state took the plan away")
	}
	for _, o := range []ledger.ForkOptions{{}, {Thread: "away"}, {Replace: posthouse.State{}}} {
		f, err := l.Fork(ctx, edited.ID, &o)
		if err != nil || plan(f.ID) != `["x"]` || string(f.Program["$plan"].Data) != `["x"]` {
			t.Fatal(f, err)
		}
	}
	if gone := commit(posthouse.Change{Program: []posthouse.Part{{Name: "$plan", Drop: true}}}); plan(gone.ID) != "" {
		t.Fatal(plan(gone.ID))
	}
	for _, name := range []string{"plan", "$meta", "$", ""} {
		_, err := l.Commit(ctx, &ledger.Draft{Thread: "t", Checkpoint: &posthouse.Change{Program: []posthouse.Part{{Name: name}}}})
		if !errors.Is(err, posthouse.ErrInvalid) {
			t.Errorf("%q: %v", name, err)
		}
	}
}
