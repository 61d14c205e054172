package ledgertest

import (
	"bytes"
	"fmt"
	"strings"
	"sync"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/ledger/ledgertest/internal/desk"
	"github.com/posthouse/posthouse/retain"
)

func ledgerSaveCases() []desk.Case {
	return []desk.Case{
		{Name: "ledger/a saved checkpoint is got by its id", Rule: "Get returns what Save stored: state, metadata, agent, parent, coordination.", Run: ledgerGetsWhatWasSaved},
		{Name: "ledger/an unknown id is not found", Rule: "Get, GetHeader, Fork, Delete and Gate of an unknown id are ErrNotFound; an impossible id is ErrInvalid.", Run: ledgerUnknownIDs},
		{Name: "ledger/foreign ids are kept as they are", Rule: "An id that matches [A-Za-z0-9._:$-]{1,200} is accepted and comes back unchanged.", Run: ledgerForeignIDs},
		{Name: "ledger/saving again with equal content changes nothing", Rule: "A second Save of an id with the same content appends nothing; with other content it is ErrExists.", Run: ledgerSavesAgain},
		{Name: "ledger/replace adds a revision", Rule: "With Replace an id without children gets new content; it is listed once, loads the newest, the earlier one stays in the log.", Run: ledgerReplaces},
		{Name: "ledger/the parent after a restart is the newest head", Rule: "A new Ledger derives from the newest checkpoint of the chain, never from the oldest (X1).", Run: ledgerParentAfterRestart},
		{Name: "ledger/two writers on one head: one wins", Rule: "Of concurrent children of one head exactly one is saved; the others get ErrConflict that names the head.", Run: ledgerTwoWriters},
		{Name: "ledger/concurrent saves of many threads lose nothing", Rule: "8 goroutines x 100 saves are all there afterwards.", Run: ledgerConcurrentSaves},
		{Name: "ledger/a state saved by hand in the middle of a step", Rule: "Save and its revisions keep what executions of a program's step have on record, through forks, and the step; a root counts on from the steps there were.", Run: ledgerSavesInStep},
		{Name: "ledger/what is passed in and handed out is copied", Rule: "Mutating a state before or after Save, or a loaded one, changes nothing that is stored (A19, X10).", Run: ledgerCopies},
		{Name: "ledger/a state over the limit is refused", Rule: "Beyond Options.MaxState (8 MiB unless set) a save is ErrTooLarge that names the field and the limit; nothing is lost.", Run: ledgerStateLimit},
		{Name: "ledger/bad content is refused by name", Rule: "Invalid UTF-8, deep JSON, bad names and oversized labels are ErrInvalid with the field.", Run: ledgerBadContent},
	}
}

func ledgerGetsWhatWasSaved(t *desk.T) {
	d := t.Desk(ledger.Options{})
	c := posthouse.Root("coord", desk.State("v"))
	c.Thread, c.Agent, c.Metadata = "t", "analyzer", map[string]string{"k": "v", "risk": "hoch – 高"}
	c.Labels = map[string]string{"team": "refunds"}
	got := d.MustGet(d.MustSave(c).ID)
	if desk.Content(got) != "v" || got.Agent != "analyzer" || got.Metadata["risk"] != "hoch – 高" || got.Labels["team"] != "refunds" ||
		got.Coordination != "coord" || got.Thread != "t" || !got.IsRoot() || got.CreatedAt != d.Clock.Now() {
		t.Errorf("got %+v", got)
	}
}

func ledgerUnknownIDs(t *desk.T) {
	d := t.Desk(ledger.Options{})
	for _, id := range []posthouse.ID{"nobody", d.Core().NewID()} {
		_, err := d.Get(t.Ctx, id)
		d.WantErr(err, posthouse.ErrNotFound)
		_, err = d.GetHeader(t.Ctx, id)
		d.WantErr(err, posthouse.ErrNotFound)
		_, err = d.Fork(t.Ctx, id, nil)
		d.WantErr(err, posthouse.ErrNotFound)
		_, err = retain.Delete(t.Ctx, d.Ledger, id, nil)
		d.WantErr(err, posthouse.ErrNotFound)
		_, err = d.Gate(t.Ctx, id)
		d.WantErr(err, posthouse.ErrNotFound)
	}
	for _, id := range []posthouse.ID{"", "a b", "../etc/passwd", "a/b", "naïve", posthouse.ID(strings.Repeat("x", 201)), "nul\x00"} {
		_, err := d.Get(t.Ctx, id)
		d.WantErr(err, posthouse.ErrInvalid)
	}
}

func ledgerForeignIDs(t *desk.T) {
	d := t.Desk(ledger.Options{})
	for i, id := range []posthouse.ID{"a", "$default", "..", "a.b:c-d$", posthouse.ID(strings.Repeat("Z9", 100)), "gate-like", "0198c5a2-0000-4000-8000-000000000000"} {
		c := posthouse.Root(fmt.Sprint("coord-", i), desk.State("v"))
		c.ID = id
		d.MustSave(c)
		if got := d.MustGet(id); got.ID != id {
			t.Errorf("%q came back as %q", id, got.ID)
		}
	}
}

func ledgerSavesAgain(t *desk.T) {
	d := t.Desk(ledger.Options{})
	c := d.Root("t", "", "v1")
	same := d.MustSave(&posthouse.Checkpoint{Header: posthouse.Header{ID: c.ID, Thread: "t"}, State: desk.State("v1")})
	if same.Seq != c.Seq {
		t.Errorf("equal content made entry %d", same.Seq)
	}
	_, err := d.Save(t.Ctx, &posthouse.Checkpoint{Header: posthouse.Header{ID: c.ID, Thread: "t"}, State: desk.State("v2")}, nil)
	d.WantErr(err, posthouse.ErrExists)
	if got := d.MustGet(c.ID); desk.Content(got) != "v1" {
		t.Errorf("content is now %q", desk.Content(got))
	}
}

func ledgerReplaces(t *desk.T) {
	d := t.Desk(ledger.Options{})
	c := d.Root("", "old", "v1")
	again := &posthouse.Checkpoint{Header: posthouse.Header{ID: c.ID, Coordination: "new"}, State: desk.State("v2")}
	_, err := d.Save(t.Ctx, again, &ledger.SaveOptions{Replace: true})
	t.OK(err)
	if got := d.MustGet(c.ID); desk.Content(got) != "v2" || got.Revision != 1 {
		t.Errorf("loads %q, revision %d", desk.Content(got), got.Revision)
	}
	d.WantStates(posthouse.Query{Coordination: "old"})
	d.WantStates(posthouse.Query{Coordination: "new"}, "v2")
	d.WantStates(posthouse.Query{}, "v2")
	seen := 0
	for e, err := range d.Log(t.Ctx, "old", posthouse.Range{}) {
		t.OK(err)
		for _, r := range e.Records {
			if r.Checkpoint != nil && r.Checkpoint.ID == c.ID {
				seen++
			}
		}
	}
	if seen != 2 {
		t.Errorf("the log has %d revisions, want 2", seen)
	}
	d.Derive(d.MustGet(c.ID), "child")
	again.State = desk.State("v3")
	_, err = d.Save(t.Ctx, again, &ledger.SaveOptions{Replace: true})
	d.WantErr(err, posthouse.ErrExists)
}

func ledgerParentAfterRestart(t *desk.T) {
	d := t.Desk(ledger.Options{})
	c := d.Root("t", "dispatch", "0")
	for i := range 5 {
		c = d.Derive(c, fmt.Sprint(i+1))
	}
	again := t.Desk(ledger.Options{})
	last, err := again.Latest(t.Ctx, ledger.LatestQuery{Coordination: "dispatch"})
	t.OK(err)
	if last.ID != c.ID {
		t.Fatalf("latest is %q, want the newest", desk.Content(last))
	}
	if next := again.Derive(last, "6"); next.Parent != c.ID || next.Step != c.Step+1 {
		t.Errorf("parent is %s at step %d", next.Parent, next.Step)
	}
}

func ledgerTwoWriters(t *desk.T) {
	d := t.Desk(ledger.Options{})
	head := d.Root("t", "", "0")
	const writers = 16
	errs := make([]error, writers)
	var wg sync.WaitGroup
	for i := range writers {
		l := d
		if i%2 == 1 {
			l = t.Desk(ledger.Options{}) // another ledger on the same store
		}
		wg.Go(func() { _, errs[i] = l.Save(t.Ctx, head.Derive(desk.State(fmt.Sprint("w", i))), nil) })
	}
	wg.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else if e := d.WantErr(err, posthouse.ErrConflict); e.Head == "" || e.Head == head.ID {
			t.Errorf("the loser is told the head is %q", e.Head)
		}
	}
	if won != 1 {
		t.Errorf("%d writers won", won)
	}
}

func ledgerConcurrentSaves(t *desk.T) {
	d := t.Desk(ledger.Options{})
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 100 {
				if _, err := d.Save(t.Ctx, posthouse.Root(fmt.Sprintf("c-%d-%d", g, i%10), desk.State("x")), nil); err != nil {
					t.Errorf("save: %v", err)
				}
			}
		})
	}
	wg.Wait()
	if n := len(d.States(posthouse.Query{})); n != 800 {
		t.Errorf("%d of 800 are there", n)
	}
}

func ledgerCopies(t *desk.T) {
	d := t.Desk(ledger.Options{})
	c := posthouse.Root("t", desk.State("abc"))
	c.Metadata = map[string]string{"k": "v"}
	saved := d.MustSave(c)
	c.State[posthouse.OpaquePart].Data[0] = 'X'
	c.Metadata["k"] = "X"
	saved.State[posthouse.OpaquePart].Data[1] = 'X'
	got := d.MustGet(saved.ID)
	got.State[posthouse.OpaquePart].Data[2] = 'X'
	got.Metadata["k"] = "Y"
	if again := d.MustGet(saved.ID); desk.Content(again) != "abc" || again.Metadata["k"] != "v" {
		t.Errorf("stored is now %q, %v", desk.Content(again), again.Metadata)
	}
	if next := d.Derive(d.MustGet(saved.ID), "abcd"); !bytes.Equal(d.MustGet(next.ID).State[posthouse.OpaquePart].Data, []byte("abcd")) {
		t.Error("the child was encoded against a changed parent")
	}
}

func ledgerStateLimit(t *desk.T) {
	d := t.Desk(ledger.Options{})
	c := d.Root("t", "", "small")
	_, err := d.Save(t.Ctx, c.Derive(desk.State(strings.Repeat("x", 9<<20))), nil)
	e := d.WantErr(err, posthouse.ErrTooLarge)
	if e.Field != "state" || !strings.Contains(e.Error(), "8388608") {
		t.Errorf("the error says %q", e)
	}
	if d.Derive(c, "next").Parent != c.ID {
		t.Error("the chain did not go on")
	}
	d.Derive(d.MustGet(d.Root("big", "", "x").ID), strings.Repeat("y", 7<<20))
}

func ledgerBadContent(t *desk.T) {
	d := t.Desk(ledger.Options{})
	bad := func(c *posthouse.Checkpoint, field string) {
		t.Helper()
		_, err := d.Save(t.Ctx, c, nil)
		if e := d.WantErr(err, posthouse.ErrInvalid); !strings.Contains(e.Field, field) {
			t.Errorf("the error names %q, want %q: %v", e.Field, field, e)
		}
	}
	j := func(s string) posthouse.State { return posthouse.State{"state": {Codec: "json", Data: []byte(s)}} }
	bad(posthouse.Root("t", j("\"\xff\"")), "part state")
	bad(posthouse.Root("t", j(strings.Repeat("[", 200)+strings.Repeat("]", 200))), "part state")
	bad(posthouse.Root("t", j("{")), "part state")
	bad(posthouse.Root("t", posthouse.State{"$meta": {Codec: "raw"}}), "part")
	bad(posthouse.Root("t", posthouse.State{"x": {Codec: "No Such"}}), "codec")
	bad(posthouse.Root("a\nb", desk.State("")), "coordination")
	c := posthouse.Root("t", desk.State(""))
	c.Metadata = map[string]string{"k": "\xff"}
	bad(c, "metadata")
	c = posthouse.Root("t", desk.State(""))
	c.Labels = map[string]string{"k": strings.Repeat("v", 300)}
	bad(c, "labels")
	c = posthouse.Root("t", desk.State(""))
	c.By = "mallory\nadmin"
	bad(c, "by")
	if n := len(d.States(posthouse.Query{})); n != 0 {
		t.Errorf("%d checkpoints of bad content were stored", n)
	}
}

func ledgerSavesInStep(t *desk.T) {
	for _, way := range []string{"saved", "revised", "revised twice"} {
		d := t.Desk(ledger.Options{})
		begun, err := d.Commit(t.Ctx, &ledger.Draft{Thread: way, Checkpoint: &posthouse.Change{
			Kind: posthouse.KindNode, Graph: "g", Status: posthouse.StatusRunning, Next: []string{"n"}, State: desk.State("0"),
		}})
		t.OK(err)
		d.Step(way, "2/n", "a")
		save := func(content string) *posthouse.Checkpoint {
			c := d.MustGet(begun.Checkpoint.ID)
			o := &ledger.SaveOptions{Replace: way != "saved"}
			c.Kind, c.State = posthouse.KindSave, desk.State(content)
			if way == "saved" {
				c.ID, c.Parent, c.Source = "", c.ID, nil
			}
			c, err := d.Save(t.Ctx, c, o)
			t.OK(err)
			return c
		}
		last := save("1")
		d.Step(way, "2/n", "b")
		if way == "revised twice" {
			last = save("2")
		}
		fork, err := d.Fork(t.Ctx, last.ID, &ledger.ForkOptions{Branch: "side"})
		t.OK(err)
		for h, want := range map[*posthouse.Header]int{&last.Header: 2, &fork.Header: map[bool]int{true: 2, false: 1}[way == "revised twice"]} {
			x, err := desk.ExecutionOf(t.Ctx, t.Desk(ledger.Options{}).Ledger, h, "2/n")
			t.OK(err)
			if len(x.Steps) != want || h.Step != begun.Checkpoint.Step {
				t.Errorf("%s: at step %d there are %d results on record; want step %d and %d results", way, h.Step, len(x.Steps), begun.Checkpoint.Step, want)
			}
		}
		d.Step(way, "5/n", "ahead")
		root := *last
		root.ID, root.Parent, root.Kind = "", "", posthouse.KindSave
		if c := d.MustSave(&root); c.Step != 6 {
			t.Errorf("%s: a root is at step %d, and 5 was begun", way, c.Step)
		}
	}
}
