package storetest

import (
	"errors"
	"fmt"
	"slices"

	"github.com/posthouse/posthouse"
)

func appendCases() []Case {
	return []Case{
		{
			Name: "append/the first entry makes the thread",
			Rule: "A batch after the zero Position begins a thread's log; entry, index and summary appear together.",
			Run:  appendFirst,
		}, {
			Name: "append/an entry comes back as it went in",
			Rule: "All fields of an entry are kept: generation, chain, header, signature and each record's body; a record without a body, or with an empty one, has nil.",
			Run:  appendRoundTrip,
		}, {
			Name: "append/a conflict carries the tail",
			Rule: "Append fails with ErrConflict unless the log ends at After, and Error.Tail says where it does end (the zero Position where there is no log). Nothing changes.",
			Run:  appendConflict,
		}, {
			Name: "append/the same entry again is success",
			Rule: "An entry that is already there (same thread, sequence and hash) is success, also once others follow it, and changes nothing: so an unknown outcome is settled.",
			Run:  appendAgain,
		}, {
			Name: "append/a first append finds nothing of another",
			Rule: "With First an entry that is there already is ErrConflict with the tail, also once others follow it: another process made the same one. Of several such appends at once one succeeds.",
			Run:  appendFirstOnly,
		}, {
			Name: "append/other content at a taken place is a conflict",
			Rule: "Only the same hash is the same entry.",
			Run:  appendOther,
		}, {
			Name: "append/a sequence number that does not follow is refused",
			Rule: "The entry's Seq is After.Seq+1. Anything else is refused, and nothing changes.",
			Run:  appendWrongSequence,
		}, {
			Name: "append/all or nothing",
			Rule: "After a failed append nothing of it is visible: no entry, id, drop, header or summary.",
			Run:  appendAtomic,
		}, {
			Name: "append/8 MiB and more",
			Rule: "An entry may hold a state of 8 MiB, and be as large as Harness.MaxEntry; other threads' small entries are not affected.",
			Run:  appendBig,
		}, {
			Name: "append/many records in one entry",
			Rule: "An entry holds one record or many, with and without bodies, in their order.",
			Run:  appendManyRecords,
		}, {
			Name: "append/threads do not disturb each other",
			Rule: "Each thread has its own log, whatever is appended to others in between.",
			Run:  appendInterleaved,
		}, {
			Name: "append/a copied log begins where it begins",
			Rule: "With Copy an entry may have any sequence number behind the log's end; the log goes on from it, and its absent bodies are nil, counted by no removal and not in the way of one.",
			Run:  appendCopy,
		},
	}
}

func appendCopy(t *T) {
	other := t.Builder.Resume(&posthouse.ThreadInfo{Thread: "t1", Generation: 2, Tail: posthouse.Position{Seq: 40, Hash: posthouse.Hash{1}}, Link: posthouse.Hash{2}})
	copied := func(b *posthouse.Batch) *posthouse.Batch {
		b.Copy = true
		for i := range b.Entry.Bodies {
			if i != 2 {
				b.Entry.Bodies[i] = nil
			}
		}
		return b
	}
	release := func(first uint64, base posthouse.Hash) Item {
		it := other.Release()
		it.Record.Release.First, it.Record.Release.Base = first, base
		return it
	}
	first := copied(other.Next(other.Checkpoint(posthouse.Header{}, "gone"), other.Step("a", []byte("gone too")), other.Step("b", []byte("kept")), other.Step("none", nil), release(41, other.Info.Link)))
	first.Copy, first.After = false, posthouse.Position{}
	t.WantCode("a first entry 41 without Copy", t.Store.Append(t.ctx, first), posthouse.CodeInvalid)
	first.Copy = true
	t.OK(t.Store.Append(t.ctx, first))
	t.OK(t.Store.Append(t.ctx, first)) // again
	other.Took(first)
	base := other.Info.Link
	other.Info.Tail.Seq += 3
	second := copied(other.Next(other.Step("a", []byte("gone")), other.Step("b", []byte("gone")), other.Step("c", []byte("kept")), release(42, base)))
	second.After.Seq -= 3 // a version that the other log has dropped
	t.OK(t.Store.Append(t.ctx, second))
	other.Took(second)
	want := []*posthouse.Entry{first.Entry, second.Entry}
	want = append(want, t.mustAppend(other, other.Checkpoint(posthouse.Header{}, "written here")))
	t.WantEntries("Read", t.Read("t1", posthouse.Range{}), want)
	t.WantPlace(headers(first.Entry)[0].ID, "t1", 41)
	t.WantThreads("Threads", t.Threads(posthouse.ThreadQuery{}), other.Info)
	done := t.remove(posthouse.Removal{Thread: "t1", Bodies: []posthouse.BodyRef{{Seq: 41}, {Seq: 41, Record: 2}, {Seq: 45, Record: 1}}})
	if done.Bodies != 1 || done.Bytes != int64(len("kept")) {
		t.Errorf("removing one body that is there and two that are not took %+v", done)
	}
	late := t.Builder.Resume(&posthouse.ThreadInfo{Thread: "t1"}).Next(other.Step("late", []byte("x")))
	late.Copy = true
	t.WantCode("a copy of another beginning", t.Store.Append(t.ctx, late), posthouse.CodeConflict)
}

func appendFirst(t *T) {
	l := t.Builder.Log("t1")
	b := l.Next(l.Checkpoint(posthouse.Header{}, "one"))
	t.OK(t.Store.Append(t.ctx, b))
	t.WantEntries("Read", t.Read("t1", posthouse.Range{}), []*posthouse.Entry{b.Entry})
	h := headers(b.Entry)[0]
	t.WantPlace(h.ID, "t1", 1)
	t.WantHeaders("List", t.List(posthouse.Query{}), &h)
	t.WantThreads("Threads", t.Threads(posthouse.ThreadQuery{}), b.Thread)
}

func appendRoundTrip(t *T) {
	l := t.Builder.Log("t1")
	var want []*posthouse.Entry
	add := func(b *posthouse.Batch) {
		t.Helper()
		t.OK(t.Store.Append(t.ctx, b))
		l.Took(b)
		want = append(want, b.Entry)
	}
	gate := t.Builder.GateID()
	full := posthouse.Header{
		Branch: "draft", Coordination: "desk", Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, Run: "run-1", Graph: "refund",
		Fingerprint: "f1", Node: "approve", Agent: "analyzer", Next: []string{"approve", "pay"}, Step: 3, By: "alice", Error: "none\nyet",
		Labels: map[string]string{"a": "1", "ü": "2"}, Source: &posthouse.Source{Thread: "t0", ID: "x"}, Size: 77,
		CreatedAt: t.Builder.Now().Add(-42),
	}
	add(l.Next(l.Checkpoint(full, "state"), l.Gate(gate, t.Builder.Now())))
	add(l.Signed(Filler(80, "signature"), l.Step("llm", []byte{0, 1, 2, 0xff})))
	add(l.Next(l.Claim("host-1", 1, false)))
	add(l.Next(l.Step("none", nil), l.Step("text", []byte("x")), l.Step("empty", []byte{})))
	add(l.Signed(Filler(80, "another"), l.Decision(gate)))
	add(l.Next(l.Checkpoint(posthouse.Header{}, "\x00\x00")))

	t.WantEntries("Read", t.Read("t1", posthouse.Range{}), want)
	got := t.List(posthouse.Query{Coordination: "desk"})
	t.WantHeaders("List", got, &headers(want[0])[0])
	t.WantThreads("Threads", t.Threads(posthouse.ThreadQuery{}), l.Info)
}

func appendConflict(t *T) {
	l := t.Builder.Log("t1")
	t.mustAppend(l, l.Step("a", []byte("a")))
	old := *l.Info
	t.mustAppend(l, l.Step("b", []byte("b")))
	t.mustAppend(l, l.Step("c", []byte("c")))

	other := old
	other.Tail.Hash[0] ^= 1
	same := *l.Info
	same.Tail.Hash[31] ^= 1
	ahead := *l.Info
	ahead.Tail.Seq++
	for what, info := range map[string]*posthouse.ThreadInfo{
		"after an entry that is not the last":         &old,
		"after a hash that was never there":           &other,
		"after the tail's sequence with other hash":   &same,
		"after an entry that is not there yet":        &ahead,
		"after nothing, though there is a log":        {Thread: "t1"},
		"after an entry of a log that does not exist": {Thread: "t2", Generation: 1, Tail: l.Info.Tail, Link: l.Info.Link},
	} {
		b := t.Builder.Resume(info).Next(l.Step("late", []byte(what)))
		err := t.Store.Append(t.ctx, b)
		t.WantCode(what, err, posthouse.CodeConflict)
		want := l.Info.Tail
		if info.Thread != "t1" {
			want = posthouse.Position{}
		}
		t.WantTail(what, err, want)
	}
	if got := t.Read("t1", posthouse.Range{}); len(got) != 3 {
		t.Errorf("after the conflicts the log has entries %v, want 1 to 3", seqs(got))
	}
	t.WantThreads("Threads", t.Threads(posthouse.ThreadQuery{}), l.Info)
}

func appendFirstOnly(t *T) {
	l := t.Builder.Log("t1")
	first := func(b *posthouse.Batch) *posthouse.Batch {
		one := *b
		one.First = true
		return &one
	}
	refused := func(b *posthouse.Batch) {
		t.Helper()
		var e *posthouse.Error
		if err := t.Store.Append(t.ctx, first(b)); !errors.As(err, &e) || e.Code != posthouse.CodeConflict || e.Tail == nil || *e.Tail != l.Info.Tail {
			t.Errorf("entry %d, which is there already, appended as the first: %v", b.Entry.Seq, err)
		}
	}
	var want []*posthouse.Entry
	var batches []*posthouse.Batch
	for i := range 3 {
		b := l.Next(l.Checkpoint(posthouse.Header{}, fmt.Sprint("state ", i)))
		const writers = 4
		done := make(chan error, writers)
		for range writers {
			go func() { done <- t.Store.Append(t.ctx, first(b)) }()
		}
		won := 0
		for range writers {
			if err := <-done; err == nil {
				won++
			} else if !isCode(err, posthouse.CodeConflict) {
				t.Errorf("entry %d, at once with others: %v", i+1, err)
			}
		}
		if won != 1 {
			t.Errorf("%d of %d appends of entry %d were the first", won, writers, i+1)
		}
		l.Took(b)
		refused(b)
		batches, want = append(batches, b), append(want, b.Entry)
	}
	for _, b := range batches {
		refused(b)
		t.OK(t.Store.Append(t.ctx, b)) // an unknown outcome is settled as before
	}
	t.WantEntries("Read", t.Read("t1", posthouse.Range{}), want)
}

func appendAgain(t *T) {
	l := t.Builder.Log("t1")
	gate := t.Builder.GateID()
	var batches []*posthouse.Batch
	for i := range 4 {
		items := []Item{l.Checkpoint(posthouse.Header{Status: posthouse.StatusWaiting}, fmt.Sprint("state ", i))}
		if i == 1 {
			items = append(items, l.Gate(gate, t.Builder.Now()))
		}
		b := l.Next(items...)
		for range 2 {
			t.OK(t.Store.Append(t.ctx, b))
		}
		l.Took(b)
		batches = append(batches, b)
	}
	for i, b := range batches {
		if err := t.Store.Append(t.ctx, b); err != nil {
			t.Errorf("entry %d again, once entry %d is the tail: %v", i+1, len(batches), err)
		}
	}
	var want []*posthouse.Entry
	for _, b := range batches {
		want = append(want, b.Entry)
	}
	t.WantEntries("Read", t.Read("t1", posthouse.Range{}), want)
	t.WantThreads("Threads", t.Threads(posthouse.ThreadQuery{}), l.Info)
	t.WantPlace(gate, "t1", 2)
	if n := len(t.List(posthouse.Query{})); n != 4 {
		t.Errorf("List: got %d checkpoints, want 4", n)
	}
}

func appendOther(t *T) {
	l := t.Builder.Log("t1")
	first, second := l.Next(l.Step("a", []byte("first"))), l.Next(l.Step("a", []byte("second")))
	t.OK(t.Store.Append(t.ctx, first))
	err := t.Store.Append(t.ctx, second)
	t.WantCode("another entry at sequence 1", err, posthouse.CodeConflict)
	t.WantTail("another entry at sequence 1", err, first.Thread.Tail)
	t.WantEntries("Read", t.Read("t1", posthouse.Range{}), []*posthouse.Entry{first.Entry})
}

func appendWrongSequence(t *T) {
	l := t.Builder.Log("t1")
	t.mustAppend(l, l.Step("a", []byte("a")))
	for _, seq := range []uint64{0, 1, 3, 99} {
		b := l.Next(l.Step("b", []byte("b")))
		e, info := *b.Entry, *b.Thread
		e.Seq = seq
		e.Hash = e.Sum()
		info.Tail = posthouse.Position{Seq: seq, Hash: e.Hash}
		b.Entry, b.Thread = &e, &info
		err := t.Store.Append(t.ctx, b)
		if !isCode(err, posthouse.CodeInvalid) && !isCode(err, posthouse.CodeConflict) {
			t.Errorf("entry %d after entry 1: got %v, want an error with code invalid", seq, err)
		}
	}
	if got := seqs(t.Read("t1", posthouse.Range{})); !slices.Equal(got, []uint64{1}) {
		t.Errorf("the log has entries %v, want 1", got)
	}
	t.WantThreads("Threads", t.Threads(posthouse.ThreadQuery{}), l.Info)
}

func appendAtomic(t *T) {
	other := t.Builder.Log("other")
	taken := t.checkpoint(other, posthouse.Header{}, "theirs")

	l := t.Builder.Log("t1")
	first := t.checkpoint(l, posthouse.Header{}, "first")
	gate := t.Builder.GateID()
	t.mustAppend(l, l.Gate(gate, t.Builder.Now()))
	before := *l.Info

	fails := func(what string, b *posthouse.Batch, code posthouse.Code) {
		t.Helper()
		t.WantCode(what, t.Store.Append(t.ctx, b), code)
		for _, id := range b.IDs {
			if id.ID != taken.ID {
				t.WantPlace(id.ID, "", 0)
			}
		}
		t.WantPlace(taken.ID, "other", 1)
		t.WantPlace(first.ID, "t1", 1)
		t.WantPlace(gate, "t1", 2)
		t.WantHeaders(what+": List", t.List(posthouse.Query{}), taken, first)
		t.WantThreads(what+": Threads", t.Threads(posthouse.ThreadQuery{}), other.Info, &before)
		if got := t.Read("t1", posthouse.Range{}); len(got) != 2 {
			t.Errorf("%s: the log has entries %v, want 1 and 2", what, seqs(got))
		}
	}
	items := func(l *Log) []Item {
		return []Item{l.Checkpoint(posthouse.Header{Labels: map[string]string{"new": "yes"}}, "new"), l.Gate(t.Builder.GateID(), t.Builder.Now()), l.Removal(first.ID, gate)}
	}
	b := l.Next(items(l)...)
	b.IDs = append(b.IDs, posthouse.IndexedID{ID: taken.ID}) // the last of several
	fails("the last id is taken", b, posthouse.CodeExists)

	b = l.Next(items(l)...)
	b.IDs = slices.Insert(b.IDs, 0, posthouse.IndexedID{ID: taken.ID})
	fails("the first id is taken", b, posthouse.CodeExists)

	empty := t.Builder.Log("t1")
	fails("the log has moved on", empty.Next(items(empty)...), posthouse.CodeConflict)

	fresh := t.Builder.Log("new")
	b = fresh.Next(fresh.Checkpoint(posthouse.Header{}, "x"))
	b.IDs = append(b.IDs, posthouse.IndexedID{ID: taken.ID})
	fails("the first entry of a thread", b, posthouse.CodeExists)
	if got := t.Read("new", posthouse.Range{}); len(got) != 0 {
		t.Errorf("a failed first append left entries %v", seqs(got))
	}
	t.mustAppend(l, l.Step("next", []byte("the thread goes on")))
}

func appendBig(t *T) {
	big := []int{1 << 20, 8<<20 + 4096, t.Harness.MaxEntry - 4096}
	l, small := t.Builder.Log("big"), t.Builder.Log("small")
	var want []*posthouse.Entry
	for i, n := range big {
		b := l.Next(l.Step("big", Filler(n, fmt.Sprint("big ", i))), l.Step("small", []byte("beside it")))
		t.OK(t.Store.Append(t.ctx, b))
		l.Took(b)
		want = append(want, b.Entry)
		t.mustAppend(small, small.Step("s", []byte("small")))
	}
	t.WantEntries("Read", t.Read("big", posthouse.Range{}), want)
	for _, e := range t.Read("big", posthouse.Range{Headers: true}) {
		for _, b := range e.Bodies {
			if b != nil {
				t.Errorf("entry %d: headers only, but with a body of %d bytes", e.Seq, len(b))
			}
		}
	}
	if n := len(t.Read("small", posthouse.Range{})); n != len(big) {
		t.Errorf("thread small has %d entries, want %d", n, len(big))
	}
}

func appendManyRecords(t *T) {
	l := t.Builder.Log("t1")
	var items []Item
	for i := range 400 {
		var body []byte
		if i%3 != 0 {
			body = Filler(i, fmt.Sprint(i))
		}
		items = append(items, l.Step(fmt.Sprint("step-", i), body))
	}
	e := t.mustAppend(l, items...)
	t.WantEntries("Read", t.Read("t1", posthouse.Range{}), []*posthouse.Entry{e})
}

func appendInterleaved(t *T) {
	var logs []*Log
	want := map[string][]*posthouse.Entry{}
	for _, name := range []string{"a", "b", "A", "a.b", "a-b", "b.a"} {
		logs = append(logs, t.Builder.Log(name))
	}
	for i := range 8 {
		for _, l := range logs {
			want[l.Info.Thread] = append(want[l.Info.Thread], t.mustAppend(l, l.Step("s", []byte(fmt.Sprint(l.Info.Thread, i)))))
		}
	}
	for name, es := range want {
		t.WantEntries("Read "+name, t.Read(name, posthouse.Range{}), es)
	}
}
