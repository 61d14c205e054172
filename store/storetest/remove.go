package storetest

import (
	"fmt"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/storetest/internal/model"
)

func removeCases() []Case {
	return []Case{
		{
			Name: "remove/bodies go, their headers stay",
			Rule: "Removing bodies leaves headers, hashes, sequence numbers, index and summary as they are; the bodies read as nil; other records' bodies stay.",
			Run:  removeBodies,
		}, {
			Name: "remove/entries below a sequence number",
			Rule: "Below takes whole entries with a lower sequence number, with the ids that lead to them; the log goes on from its tail as before.",
			Run:  removeBelow,
		}, {
			Name: "remove/entries from one number to below another",
			Rule: "With From the entries before it stay: the log has a hole, which reads pass over; ids, lists and the summary are right on both sides.",
			Run:  removeHole,
		}, {
			Name: "remove/a version with the newest revision of an older checkpoint",
			Rule: "The checkpoint is gone with its newest revision; that an older entry has it still is no damage.",
			Run:  removeHoleOfARevision,
		}, {
			Name: "remove/a version with the highest order key",
			Rule: "What is left may be below it, and that is no damage.",
			Run:  removeHighest,
		}, {
			Name: "remove/below the tail and beyond",
			Rule: "With every entry gone the summary still says where the log ends: appends go on from there, and the last entry again is still success.",
			Run:  removeBelowAll,
		}, {
			Name: "remove/a thread leaves nothing",
			Rule: "All takes the thread with its summary, index and slots, and nothing of any other; its name and its ids are free again.",
			Run:  removeAll,
		}, {
			Name: "remove/what is gone is no error",
			Rule: "Removing again, or what never was, succeeds and reports nothing taken.",
			Run:  removeAgain,
		}, {
			Name: "remove/counts say what went",
			Rule: "Removed counts entries and bodies that were there, and their bytes.",
			Run:  removeCounts,
		},
	}
}

func (t *T) remove(r posthouse.Removal) posthouse.Removed {
	t.Helper()
	done, err := t.Store.Remove(t.ctx, r)
	t.OK(err)
	return done
}

// without returns copies of entries that lack some bodies.
func without(es []*posthouse.Entry, refs ...posthouse.BodyRef) (out []*posthouse.Entry) {
	for _, e := range es {
		c := *e
		c.Bodies = slices.Clone(e.Bodies)
		for _, ref := range refs {
			if ref.Seq == c.Seq {
				c.Bodies[ref.Record] = nil
			}
		}
		out = append(out, &c)
	}
	return out
}

func removeBodies(t *T) {
	l := t.Builder.Log("t1")
	var es []*posthouse.Entry
	for range 5 {
		es = append(es, t.mustAppend(l, l.Checkpoint(posthouse.Header{}, "state"), l.Step("none", nil), l.Step("s", []byte("result"))))
	}
	_, others := t.log("t2", 3)
	before := t.List(posthouse.Query{})
	gone := []posthouse.BodyRef{{Seq: 2, Record: 0}, {Seq: 4, Record: 2}, {Seq: 4, Record: 0}}
	t.remove(posthouse.Removal{Thread: "t1", Bodies: gone})
	es = without(es, gone...)
	t.WantEntries("Read", t.Read("t1", posthouse.Range{}), es)
	t.WantEntries("Read of some", t.Read("t1", posthouse.Range{Seqs: []uint64{4, 2}}), []*posthouse.Entry{es[3], es[1]})
	t.WantEntries("another thread", t.Read("t2", posthouse.Range{}), others)
	t.WantHeaders("List", t.List(posthouse.Query{}), before...)
	t.WantThreads("Threads", t.Threads(posthouse.ThreadQuery{Thread: "t1"}), l.Info)

	es = append(es, t.mustAppend(l, l.Step("next", []byte("the log goes on"))))
	t.WantEntries("Read", t.Read("t1", posthouse.Range{}), es)
}

func removeBelow(t *T) {
	l := t.Builder.Log("t1")
	var hs []*posthouse.Header
	var gates []posthouse.ID
	for range 6 {
		gate := t.Builder.GateID()
		e := t.mustAppend(l, l.Checkpoint(posthouse.Header{Status: posthouse.StatusWaiting}, "state"), l.Gate(gate, t.Builder.Now()))
		hs, gates = append(hs, &headers(e)[0]), append(gates, gate)
	}
	hs[1] = t.checkpoint(l, posthouse.Header{ID: hs[1].ID, Order: hs[1].Order, Revision: 1}, "again") // its newest place stays
	es := t.Read("t1", posthouse.Range{})
	_, others := t.log("t2", 3)

	t.remove(posthouse.Removal{Thread: "t1", Below: 4})
	t.WantEntries("Read", t.Read("t1", posthouse.Range{}), es[3:])
	t.WantEntries("Read of what is gone", t.Read("t1", posthouse.Range{Seqs: []uint64{2, 5, 1}}), es[4:5])
	t.WantEntries("newest first", t.Read("t1", posthouse.Range{Reverse: true, From: 2, Limit: 9}), model.Entries(es[3:], posthouse.Range{Reverse: true}))
	t.WantEntries("another thread", t.Read("t2", posthouse.Range{}), others)
	for i := range gates {
		if i < 3 {
			t.WantPlace(gates[i], "", 0)
		} else {
			t.WantPlace(gates[i], "t1", uint64(i+1))
		}
	}
	t.WantPlace(hs[0].ID, "", 0)
	t.WantPlace(hs[1].ID, "t1", 7)
	t.WantHeaders("List", t.List(posthouse.Query{Thread: "t1"}), hs[3], hs[4], hs[5], hs[1])
	t.WantHeaders("List across threads", t.List(posthouse.Query{}), hs[1], hs[3], hs[4], hs[5])
	t.WantThreads("Threads", t.Threads(posthouse.ThreadQuery{Thread: "t1"}), l.Info)

	e := t.mustAppend(l, l.Checkpoint(posthouse.Header{}, "the log goes on"))
	t.WantEntries("Read", t.Read("t1", posthouse.Range{From: 7}), []*posthouse.Entry{es[6], e})
}

func removeHole(t *T) {
	l := t.Builder.Log("t1")
	var hs []*posthouse.Header
	var all []*posthouse.Entry
	for i := range 300 { // a version of 4 entries, one of 290, the current one
		items := []Item{l.Checkpoint(posthouse.Header{Agent: []string{"x", "y"}[i%2]}, "state")}
		if i == 3 || i == 293 {
			items = append(items, l.Release())
		}
		e := t.mustAppend(l, items...)
		hs, all = append(hs, &headers(e)[0]), append(all, e)
	}
	_, others := t.log("t2", 3)
	c, _ := t.Store.(posthouse.Compacter)
	if c != nil { // bodies of both sides in one pack
		_, err := c.Compact(t.ctx)
		t.OK(err)
	}
	if done := t.remove(posthouse.Removal{Thread: "t1", From: 5, Below: 294}); done.Entries != 289 || done.Bodies != 289 {
		t.Errorf("took %+v", done)
	}
	kept, heads := slices.Concat(all[:4], all[293:]), slices.Concat(hs[:4], hs[293:])
	for range 2 {
		t.WantEntries("Read", t.Read("t1", posthouse.Range{}), kept)
		for _, r := range []posthouse.Range{{From: 3, Limit: 4}, {From: 200}, {Reverse: true, Limit: 9}, {Reverse: true, To: 200}, {From: 6, To: 8}, {Seqs: []uint64{1, 6, 294}}} {
			t.WantEntries(fmt.Sprintf("%+v", r), t.Read("t1", r), model.Entries(kept, r))
		}
		for _, q := range []posthouse.Query{{Thread: "t1"}, {Thread: "t1", Agent: "x"}, {Thread: "t1", From: 4, To: 295}, {Thread: "t1", Generation: 2}, {Agent: "y", Coordination: "t1"}} {
			for _, q.Descending = range []bool{false, true} {
				t.WantHeaders(fmt.Sprintf("%+v", q), t.List(q), model.Headers(heads, q)...)
			}
		}
		t.WantPlace(hs[4].ID, "", 0)
		t.WantPlace(hs[3].ID, "t1", 4)
		t.WantEntries("another thread", t.Read("t2", posthouse.Range{}), others)
		t.WantThreads("Threads", t.Threads(posthouse.ThreadQuery{Thread: "t1"}), l.Info)
		if c != nil {
			_, err := c.Compact(t.ctx)
			t.OK(err)
		}
	}
	if done := t.remove(posthouse.Removal{Thread: "t1", From: 5, Below: 294}); done != (posthouse.Removed{}) {
		t.Errorf("removing again took %+v", done)
	}
	e := t.mustAppend(l, l.Checkpoint(posthouse.Header{}, "the log goes on"))
	t.WantEntries("Read", t.Read("t1", posthouse.Range{From: 294}), slices.Concat(all[293:], []*posthouse.Entry{e}))
	t.remove(posthouse.Removal{Thread: "t1", Below: 294})
	t.WantEntries("Read of the rest", t.Read("t1", posthouse.Range{}), slices.Concat(all[293:], []*posthouse.Entry{e}))
}

func removeHoleOfARevision(t *T) {
	l := t.Builder.Log("t1")
	first := &headers(t.mustAppend(l, l.Checkpoint(posthouse.Header{}, "first"), l.Release()))[0]
	again := posthouse.Header{ID: first.ID, Order: first.Order, Revision: first.Revision + 1}
	t.mustAppend(l, l.Checkpoint(again, "replaced"))
	t.mustAppend(l, l.Step("s", []byte("result")), l.Release())
	e := t.mustAppend(l, l.Checkpoint(posthouse.Header{}, "the log goes on"))
	t.remove(posthouse.Removal{Thread: "t1", From: 2, Below: 3})
	t.WantPlace(first.ID, "", 0)
	t.WantHeaders("List", t.List(posthouse.Query{Thread: "t1"}), &headers(e)[0])
	t.WantThreads("Threads", t.Threads(posthouse.ThreadQuery{Thread: "t1"}), l.Info)
}

func removeHighest(t *T) {
	l, low := t.Builder.Log("t1"), t.Builder.Key()
	t.mustAppend(l, l.Checkpoint(posthouse.Header{}, "first"), l.Release())
	t.mustAppend(l, l.Checkpoint(posthouse.Header{}, "highest"))
	t.mustAppend(l, l.Step("s", []byte("result")), l.Release())
	e := t.mustAppend(l, l.Checkpoint(posthouse.Header{ID: "late", Order: low}, "the log goes on"))
	t.remove(posthouse.Removal{Thread: "t1", From: 2, Below: 3})
	t.WantHeaders("List", t.List(posthouse.Query{Thread: "t1", From: 2}), &headers(e)[0])
}

func removeBelowAll(t *T) {
	l, _ := t.log("t1", 3)
	last := l.Next(l.Checkpoint(posthouse.Header{}, "last"))
	t.OK(t.Store.Append(t.ctx, last))
	l.Took(last)
	t.remove(posthouse.Removal{Thread: "t1", Below: 1 << 40})
	t.WantEntries("Read", t.Read("t1", posthouse.Range{}), nil)
	t.WantThreads("Threads", t.Threads(posthouse.ThreadQuery{}), l.Info)
	t.OK(t.Store.Append(t.ctx, last))
	err := t.Store.Append(t.ctx, t.Builder.Log("t1").Next(l.Step("s", []byte("from the start"))))
	t.WantCode("an append from the start", err, posthouse.CodeConflict)
	t.WantTail("an append from the start", err, l.Info.Tail)
	e := t.mustAppend(l, l.Step("next", []byte("the log goes on")))
	t.WantEntries("Read", t.Read("t1", posthouse.Range{}), []*posthouse.Entry{e})
}

func removeAll(t *T) {
	l, other := t.Builder.Log("t1"), t.Builder.Log("t1.x")
	gate := t.Builder.GateID()
	e := t.mustAppend(l, l.Checkpoint(posthouse.Header{Status: posthouse.StatusWaiting, Coordination: "desk"}, "state"), l.Gate(gate, t.Builder.Now()))
	h := headers(e)[0]
	kept := t.checkpoint(other, posthouse.Header{Coordination: "desk"}, "state")
	t.put(posthouse.SlotKey{Thread: "t1", Step: "s"}, "x", 0, 0)

	t.remove(posthouse.Removal{Thread: "t1", All: true})
	t.WantEntries("Read", t.Read("t1", posthouse.Range{}), nil)
	t.WantPlace(h.ID, "", 0)
	t.WantPlace(gate, "", 0)
	t.WantPlace(kept.ID, "t1.x", 1)
	t.WantHeaders("List", t.List(posthouse.Query{}), kept)
	t.WantHeaders("List of the thread", t.List(posthouse.Query{Thread: "t1"}))
	t.WantHeaders("List of the coordination", t.List(posthouse.Query{Coordination: "desk"}), kept)
	t.WantThreads("Threads", t.Threads(posthouse.ThreadQuery{}), other.Info)
	t.WantThreads("Threads that wait", t.Threads(posthouse.ThreadQuery{Waiting: true}))
	t.wantNoSlot(posthouse.SlotKey{Thread: "t1", Step: "s"})

	again := t.Builder.Log("t1")
	t.mustAppend(again, again.Checkpoint(posthouse.Header{ID: h.ID, Order: h.Order}, "anew"), again.Gate(gate, t.Builder.Now()))
	t.WantPlace(h.ID, "t1", 1)
	t.WantThreads("Threads", t.Threads(posthouse.ThreadQuery{Thread: "t1"}), again.Info)
}

func removeAgain(t *T) {
	l, _ := t.log("t1", 4)
	removals := []posthouse.Removal{
		{Thread: "t1", Bodies: []posthouse.BodyRef{{Seq: 3}, {Seq: 3, Record: 9}, {Seq: 99}}}, {Thread: "t1", Below: 3},
		{Thread: "t1", Bodies: []posthouse.BodyRef{{Seq: 1}}}, {Thread: "nobody", Below: 7}, {Thread: "nobody", All: true},
		{Thread: "nobody", Bodies: []posthouse.BodyRef{{Seq: 1}}},
	}
	for _, r := range removals {
		t.remove(r)
		if done := t.remove(r); done != (posthouse.Removed{}) {
			t.Errorf("%+v again: took %+v", r, done)
		}
	}
	if got := seqs(t.Read("t1", posthouse.Range{})); !slices.Equal(got, []uint64{3, 4}) {
		t.Errorf("the log has entries %v, want 3 and 4", got)
	}
	t.WantThreads("Threads", t.Threads(posthouse.ThreadQuery{}), l.Info)
	r := posthouse.Removal{Thread: "t1", All: true}
	t.remove(r)
	if done := t.remove(r); done != (posthouse.Removed{}) {
		t.Errorf("%+v again: took %+v", r, done)
	}
}

func removeCounts(t *T) {
	l := t.Builder.Log("t1")
	for range 6 {
		t.mustAppend(l, l.Step("a", Filler(1000, "a")), l.Step("none", nil), l.Step("b", Filler(3000, "b")))
	}
	done := t.remove(posthouse.Removal{Thread: "t1", Bodies: []posthouse.BodyRef{{Seq: 1}, {Seq: 1, Record: 1}, {Seq: 5, Record: 2}}})
	if want := (posthouse.Removed{Bodies: 2, Bytes: done.Bytes}); done != want || done.Bytes <= 0 {
		t.Errorf("removing two bodies: got %+v", done)
	}
	done = t.remove(posthouse.Removal{Thread: "t1", Below: 4})
	if done.Entries != 3 || done.Bytes <= 0 {
		t.Errorf("removing three entries: got %+v", done)
	}
	done = t.remove(posthouse.Removal{Thread: "t1", All: true})
	if done.Entries != 3 || done.Bytes <= 0 {
		t.Errorf("removing the rest: got %+v", done)
	}
}
