package ledger_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
)

// TestDraftsAreRefusedByField lists what a draft may not hold: each is refused
// with the field at fault, and leaves nothing.
func TestDraftsAreRefusedByField(t *testing.T) {
	type draft = ledger.Draft
	change := func(c posthouse.Change) draft { return draft{Checkpoint: &c} }
	parts := func(ps ...posthouse.Part) draft { return change(posthouse.Change{Parts: ps}) }
	waiting := func(g posthouse.Gate) draft {
		return draft{Checkpoint: &posthouse.Change{Status: posthouse.StatusWaiting}, Gates: []posthouse.Gate{g}}
	}
	step := func(s posthouse.Step) draft { return draft{Steps: []posthouse.Step{s}} }
	long, longer := strings.Repeat("x", posthouse.MaxID+1), strings.Repeat("x", 5000)
	labels := map[string]string{}
	for i := range 17 {
		labels[strings.Repeat("k", i+1)] = ""
	}
	for _, c := range []struct {
		name, field string
		code        *posthouse.Error
		draft
	}{
		{"nothing", "draft", posthouse.ErrInvalid, draft{}},
		{"a branch on two lines", "branch", posthouse.ErrInvalid, draft{Branch: "a\nb", Checkpoint: &posthouse.Change{}}},
		{"a branch out of nothing", "", posthouse.ErrNotFound, draft{Branch: "side", Checkpoint: &posthouse.Change{}}},
		{"gates without waiting", "gates", posthouse.ErrInvalid, draft{Checkpoint: &posthouse.Change{}, Gates: []posthouse.Gate{{Name: "ok?"}}}},
		{"too many records", "draft", posthouse.ErrInvalid, draft{Steps: make([]posthouse.Step, 1<<16)}},
		{"less than no steps skipped", "skipped", posthouse.ErrInvalid, change(posthouse.Change{Skipped: -1})},
		{"an id with a slash", "id", posthouse.ErrInvalid, change(posthouse.Change{ID: "a/b"})},
		{"a parent with a slash", "parent", posthouse.ErrInvalid, change(posthouse.Change{Parent: "a/b"})},
		{"an unknown parent", "", posthouse.ErrNotFound, draft{Branch: "side", Checkpoint: &posthouse.Change{Parent: "nobody"}}},
		{"a parent elsewhere", "parent", posthouse.ErrInvalid, draft{Branch: "side", Checkpoint: &posthouse.Change{Parent: "elsewhere"}}},
		{"a coordination on two lines", "coordination", posthouse.ErrInvalid, change(posthouse.Change{Coordination: "a\nb"})},
		{"a long run", "run", posthouse.ErrInvalid, change(posthouse.Change{Run: long})},
		{"a node on two lines", "node", posthouse.ErrInvalid, change(posthouse.Change{Node: "a\nb"})},
		{"an agent in latin-1", "agent", posthouse.ErrInvalid, change(posthouse.Change{Agent: "caf\xe9"})},
		{"a long next node", "next", posthouse.ErrInvalid, change(posthouse.Change{Next: []string{longer}})},
		{"a next node on two lines", "next", posthouse.ErrInvalid, change(posthouse.Change{Next: []string{"a\nb"}})},
		{"an unknown kind", "kind", posthouse.ErrInvalid, change(posthouse.Change{Kind: "whim"})},
		{"an unknown status", "status", posthouse.ErrInvalid, change(posthouse.Change{Status: "asleep"})},
		{"too many labels", "labels", posthouse.ErrInvalid, change(posthouse.Change{Labels: labels})},
		{"a label without a name", "labels", posthouse.ErrInvalid, change(posthouse.Change{Labels: map[string]string{"": "v"}})},
		{"a source on two lines", "source", posthouse.ErrInvalid, change(posthouse.Change{Source: &posthouse.Source{Thread: "a\nb", ID: "x"}})},
		{"a source without an id", "source", posthouse.ErrInvalid, change(posthouse.Change{Source: &posthouse.Source{Thread: "t"}})},
		{"a state in two forms", "state", posthouse.ErrInvalid, change(posthouse.Change{State: posthouse.State{}, Parts: []posthouse.Part{}})},
		{"metadata with a control character", "metadata", posthouse.ErrInvalid, change(posthouse.Change{Metadata: map[string]string{"a\x01": ""}})},
		{"metadata over the limit", "metadata", posthouse.ErrTooLarge, change(posthouse.Change{Metadata: map[string]string{"k": longer}})},
		{"a state over the limit", "state", posthouse.ErrTooLarge, parts(posthouse.Part{Name: "a", Data: []byte(longer)})},
		{"a part twice", "part a", posthouse.ErrInvalid, parts(posthouse.Part{Name: "a", Drop: true}, posthouse.Part{Name: "a", Data: []byte("1")})},
		{"a part without a name", "part", posthouse.ErrInvalid, parts(posthouse.Part{})},
		{"a part of ours", "part", posthouse.ErrInvalid, parts(posthouse.Part{Name: "$meta", Data: []byte("{}")})},
		{"a part of a bad codec", "codec", posthouse.ErrInvalid, parts(posthouse.Part{Name: "a", Codec: "No Such"})},
		{"a splice of nothing", "part b", posthouse.ErrInvalid, parts(posthouse.Part{Name: "b", Splice: true})},
		{"a splice in another codec", "part m", posthouse.ErrInvalid, parts(posthouse.Part{Name: "m", Codec: "raw", Splice: true})},
		{"a splice of more than there is", "part m", posthouse.ErrInvalid, parts(posthouse.Part{Name: "m", Splice: true, Prefix: 2, Suffix: 3})},
		{"a splice beyond all numbers", "part m", posthouse.ErrInvalid, parts(posthouse.Part{Name: "m", Splice: true, Prefix: math.MaxInt, Suffix: math.MaxInt})},
		{"a splice of less than nothing", "part m", posthouse.ErrInvalid, parts(posthouse.Part{Name: "m", Splice: true, Prefix: -1})},
		{"a step without a name", "step", posthouse.ErrInvalid, step(posthouse.Step{Task: "1/n"})},
		{"a step of a bad codec", "codec", posthouse.ErrInvalid, step(posthouse.Step{Name: "s", Value: posthouse.Value{Codec: "No Such"}})},
		{"a step over the limit", "step s", posthouse.ErrTooLarge, step(posthouse.Step{Name: "s", Value: posthouse.Value{Data: []byte(longer)}})},
		{"a gate without a name", "gate", posthouse.ErrInvalid, waiting(posthouse.Gate{})},
		{"a gate with a bad id", "id", posthouse.ErrInvalid, waiting(posthouse.Gate{ID: "a b", Name: "ok?"})},
		{"a gate of a long task", "gate", posthouse.ErrInvalid, waiting(posthouse.Gate{Name: "ok?", Task: longer})},
		{"a payload that is no JSON", "payload", posthouse.ErrInvalid, waiting(posthouse.Gate{Name: "ok?", Payload: []byte("{")})},
		{"a schema in latin-1", "schema", posthouse.ErrInvalid, waiting(posthouse.Gate{Name: "ok?", Schema: []byte("\"\xe9\"")})},
		{"a verdict nobody gives", "verdicts", posthouse.ErrInvalid, waiting(posthouse.Gate{Name: "ok?", Verdicts: []posthouse.Verdict{posthouse.Expire}})},
		{"a gate of a kind on two lines", "kind", posthouse.ErrInvalid, waiting(posthouse.Gate{Name: "ok?", Kind: "a\nb"})},
		{"a timer without an end", "expiresAt", posthouse.ErrInvalid, waiting(posthouse.Gate{Name: "ok?", Kind: posthouse.GateTimer})},
		{"a question for a signal", "signal", posthouse.ErrInvalid, waiting(posthouse.Gate{Name: "ok?", Signal: "paid"})},
		{"an answer for what is neither", "bind", posthouse.ErrInvalid, waiting(posthouse.Gate{Name: "ok?", Bind: "whim"})},
		{"an answer by name that licenses", "bind", posthouse.ErrInvalid, waiting(posthouse.Gate{Name: "ok?", Bind: posthouse.ByName, Uses: 1})},
		{"less than no uses", "uses", posthouse.ErrInvalid, waiting(posthouse.Gate{Name: "ok?", Uses: -1})},
		{"an answer that ended before it began", "validFor", posthouse.ErrInvalid, waiting(posthouse.Gate{Name: "ok?", ValidFor: -1})},
		{"a note in latin-1", "note", posthouse.ErrInvalid, waiting(posthouse.Gate{Name: "ok?", Note: "caf\xe9"})},
		{"a gate in the place of none", "supersedes", posthouse.ErrInvalid, waiting(posthouse.Gate{Name: "ok?", Supersedes: "a b"})},
		{"an instance on two lines", "instance", posthouse.ErrInvalid, waiting(posthouse.Gate{Name: "ok?", Instance: "a\nb"})},
		{"a gate over the limit", "gate", posthouse.ErrTooLarge, waiting(posthouse.Gate{Name: "ok?", Text: longer})},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, l := context.Background(), open(t, &ledger.Options{MaxState: 4096, Validate: gate.Validator()})
			must.Get(l.Commit(ctx, &ledger.Draft{Thread: "t", Checkpoint: &posthouse.Change{State: posthouse.State{"m": {Codec: "json", Data: []byte("1234")}}}}))(t)
			must.Get(l.Commit(ctx, &ledger.Draft{Thread: "u", Checkpoint: &posthouse.Change{ID: "elsewhere"}}))(t)
			c.draft.Thread = "t"
			_, err := l.Commit(ctx, &c.draft)
			var e *posthouse.Error
			if !errors.Is(err, c.code) || !errors.As(err, &e) || e.Field != c.field {
				t.Fatalf("the error is %v, want %s of %q", err, c.code.Code, c.field)
			}
			if tail := must.Get(l.Thread(ctx, "t"))(t).Tail.Seq; tail != 1 {
				t.Errorf("the log ends at entry %d, want 1", tail)
			}
			must.Get(l.Commit(ctx, &ledger.Draft{Thread: "t", Checkpoint: &posthouse.Change{}}))(t)
		})
	}
}

// Steps that made no checkpoint count as those that did.
func TestSkippedStepsCount(t *testing.T) {
	l := open(t, nil)
	var steps []uint64
	for _, c := range []posthouse.Change{
		{Kind: posthouse.KindInput}, {Kind: posthouse.KindNode, Skipped: 3}, {Kind: posthouse.KindWait}, {Kind: posthouse.KindNode},
	} {
		done, err := l.Commit(t.Context(), &ledger.Draft{Thread: "t", Checkpoint: &c})
		if err != nil {
			t.Fatal(err)
		}
		steps = append(steps, done.Checkpoint.Step)
	}
	if want := []uint64{0, 4, 4, 5}; !slices.Equal(steps, want) {
		t.Fatalf("steps %d, want %d", steps, want)
	}
}
