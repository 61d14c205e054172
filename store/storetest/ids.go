package storetest

import (
	"strings"

	"github.com/posthouse/posthouse"
)

func idCases() []Case {
	return []Case{
		{
			Name: "ids/lead to their place",
			Rule: "Find returns thread and sequence of a checkpoint or a gate; an id nobody brought is ErrNotFound.",
			Run:  idsFind,
		}, {
			Name: "ids/an id of another thread is taken",
			Rule: "ErrExists if an id is indexed to a place in another thread, whether it is a checkpoint's or a gate's, also with Replace.",
			Run:  idsTaken,
		}, {
			Name: "ids/an id of this thread is taken unless replaced",
			Rule: "ErrExists if an id has a place in the same thread and the batch does not say Replace; with it, the new place counts. An id may say Replace without being there.",
			Run:  idsReplace,
		}, {
			Name: "ids/what is dropped is gone and free",
			Rule: "A dropped id is not found and not listed, whatever it was; its entry stays. It may be used again, in any thread. Dropping what is not there is no error.",
			Run:  idsDrop,
		}, {
			Name: "ids/foreign ids with odd characters",
			Rule: "Threads and ids that match [A-Za-z0-9._:$-]{1,200} are kept as they are and told apart by each byte, case included.",
			Run:  idsOdd,
		},
	}
}

func idsFind(t *T) {
	l := t.Builder.Log("t1")
	gate := t.Builder.GateID()
	t.mustAppend(l, l.Step("a", []byte("a")))
	e := t.mustAppend(l, l.Checkpoint(posthouse.Header{Status: posthouse.StatusWaiting}, "x"), l.Gate(gate, t.Builder.Now()))
	h := headers(e)[0]
	t.WantPlace(h.ID, "t1", 2)
	t.WantPlace(gate, "t1", 2)
	unknown, _ := t.Builder.ID()
	t.WantPlace(unknown, "", 0)
	t.WantPlace("t1", "", 0) // a thread's name is no id
}

func idsTaken(t *T) {
	l, m := t.Builder.Log("t1"), t.Builder.Log("t2")
	gate := t.Builder.GateID()
	e := t.mustAppend(l, l.Checkpoint(posthouse.Header{}, "x"), l.Gate(gate, t.Builder.Now()))
	h := headers(e)[0]
	again := posthouse.Header{ID: h.ID, Order: h.Order}
	for _, seq := range []uint64{0, 1} {
		t.WantCode("a checkpoint's id", t.Store.Append(t.ctx, m.Next(m.Checkpoint(again, "y"))), posthouse.CodeExists)
		t.WantCode("a gate's id", t.Store.Append(t.ctx, m.Next(m.Gate(gate, t.Builder.Now()))), posthouse.CodeExists)
		t.WantCode("a gate's id for a checkpoint", t.Store.Append(t.ctx, m.Next(m.Checkpoint(posthouse.Header{ID: gate}, "y"))), posthouse.CodeExists)
		revised := again
		revised.Revision = 1
		t.WantCode("Replace", t.Store.Append(t.ctx, m.Next(m.Checkpoint(revised, "y"))), posthouse.CodeExists)
		if m.Info.Tail.Seq != seq {
			t.Fatalf("the log moved")
		}
		if seq == 0 {
			t.mustAppend(m, m.Step("a", []byte("a"))) // the same again, in a thread that is there
		}
	}
	t.WantPlace(h.ID, "t1", 1)
	t.WantPlace(gate, "t1", 1)
}

func idsReplace(t *T) {
	l := t.Builder.Log("t1")
	h := t.checkpoint(l, posthouse.Header{Labels: map[string]string{"v": "1"}}, "one")
	next := t.checkpoint(l, posthouse.Header{}, "between")

	again := posthouse.Header{ID: h.ID, Order: h.Order, Labels: map[string]string{"v": "2"}}
	t.WantCode("the id again", t.Store.Append(t.ctx, l.Next(l.Checkpoint(again, "two"))), posthouse.CodeExists)
	t.WantPlace(h.ID, "t1", 1)

	again.Revision = 1
	revised := t.checkpoint(l, again, "two")
	t.WantPlace(h.ID, "t1", 3)
	t.WantHeaders("List of the thread, by sequence", t.List(posthouse.Query{Thread: "t1"}), next, revised)
	t.WantHeaders("List, by order key", t.List(posthouse.Query{}), revised, next)
	t.WantHeaders("List of the old label", t.List(posthouse.Query{Label: "v", LabelValue: "1"}))
	if got := t.Read("t1", posthouse.Range{Seqs: []uint64{1}}); len(got) != 1 || string(got[0].Bodies[0]) != "one" {
		t.Error("the earlier revision is not readable any more")
	}

	fresh := posthouse.Header{Revision: 1} // not there yet
	first := t.checkpoint(l, fresh, "fresh")
	t.WantPlace(first.ID, "t1", 4)
}

func idsDrop(t *T) {
	l, m := t.Builder.Log("t1"), t.Builder.Log("t2")
	gate := t.Builder.GateID()
	e := t.mustAppend(l, l.Checkpoint(posthouse.Header{}, "x"), l.Gate(gate, t.Builder.Now()))
	gone := headers(e)[0]
	kept := t.checkpoint(l, posthouse.Header{}, "kept")
	revised := t.checkpoint(l, posthouse.Header{ID: gone.ID, Order: gone.Order, Revision: 1}, "x2")
	theirs := t.checkpoint(m, posthouse.Header{}, "theirs")
	unknown, _ := t.Builder.ID()

	t.mustAppend(l, l.Removal(gone.ID, gate, unknown))
	t.WantPlace(gone.ID, "", 0) // it does not fall back to the earlier revision
	t.WantPlace(gate, "", 0)
	t.WantPlace(kept.ID, "t1", 2)
	t.WantHeaders("List", t.List(posthouse.Query{}), kept, theirs)
	t.WantHeaders("List of the thread", t.List(posthouse.Query{Thread: "t1"}), kept)
	if got := t.Read("t1", posthouse.Range{}); len(got) != 4 || string(got[2].Bodies[0]) != "x2" {
		t.Errorf("entries went with the id: %v", seqs(got))
	}

	moved := t.checkpoint(m, posthouse.Header{ID: revised.ID, Order: revised.Order}, "elsewhere")
	t.mustAppend(l, l.Gate(gate, t.Builder.Now()))
	t.WantPlace(moved.ID, "t2", 2)
	t.WantPlace(gate, "t1", 5)
	t.mustAppend(l, l.Removal(moved.ID)) // another thread's now: not this thread's to drop
	t.WantPlace(moved.ID, "t2", 2)
}

// oddNames are valid and easy to mix up.
var oddNames = []string{
	"a", "A", "a.b", "a-b", "a_b", "a:b", "a$b", "a..b", ".", "..", "...", "-", "--", "_", "$", "$a", ":", "a:", ":a",
	"0", "00", "-1", "1e3", "null", "NULL", "con", "$process", "a.b.c", "a.b-c", "_a", "__",
	"018f0000-0000-7000-8000-000000000000", "018F0000-0000-7000-8000-000000000000", "018f00000000700080000000000000-0",
	strings.Repeat("x", posthouse.MaxID), strings.Repeat("x", posthouse.MaxID-1), strings.Repeat("x", posthouse.MaxID-1) + "X",
	strings.Repeat("$", posthouse.MaxID), strings.Repeat(".", posthouse.MaxID),
}

func idsOdd(t *T) {
	want := map[string]*posthouse.Header{}
	for _, name := range oddNames {
		must(posthouse.ID(name).Validate())
		l := t.Builder.Log(name)
		want[name] = t.checkpoint(l, posthouse.Header{ID: posthouse.ID(name), Coordination: "of-" + name[:min(len(name), 100)], Agent: name}, "state of "+name)
	}
	for _, name := range oddNames {
		t.WantPlace(posthouse.ID(name), name, 1)
		got := t.Read(name, posthouse.Range{})
		if len(got) != 1 || string(got[0].Bodies[0]) != "state of "+name {
			t.Errorf("thread %q does not have its one entry", name)
		}
		t.WantHeaders("List of thread "+name, t.List(posthouse.Query{Thread: name}), want[name])
		t.WantHeaders("List of agent "+name, t.List(posthouse.Query{Agent: name}), want[name])
		if got := threadNames(t.Threads(posthouse.ThreadQuery{Thread: name})); len(got) != 1 || got[0] != name {
			t.Errorf("Threads of %q: got %q", name, got)
		}
	}
	if n := len(t.Threads(posthouse.ThreadQuery{})); n != len(oddNames) {
		t.Errorf("there are %d threads, want %d", n, len(oddNames))
	}
}
