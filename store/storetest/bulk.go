package storetest

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/posthouse/posthouse"
)

// bulkCases are about [posthouse.BulkAppender].
func bulkCases() []Case {
	cases := []Case{
		{
			Name: "bulk/entries come as if one by one",
			Rule: "After AppendAll the log, the index, lists, open gates and the summary are what Append of each entry in order makes of them.",
			Run:  bulkSame,
		}, {
			Name: "bulk/all or nothing",
			Rule: "If one entry is refused, for a taken id for example, nothing of the others is there: no entry, id, drop, header or summary.",
			Run:  bulkAtomic,
		}, {
			Name: "bulk/a conflict carries the tail",
			Rule: "AppendAll fails with ErrConflict unless the log ends where the first entry that is not there follows, and Error.Tail says where it does end. Nothing changes.",
			Run:  bulkConflict,
		}, {
			Name: "bulk/the same entries again are success",
			Rule: "Entries that are there already are passed over, all of them or those at the beginning: so an unknown outcome is settled.",
			Run:  bulkAgain,
		}, {
			Name: "bulk/what does not follow is refused",
			Rule: "Entries of several threads, or out of order, are ErrInvalid and change nothing; no entries are no error.",
			Run:  bulkInvalid,
		}, {
			Name: "bulk/as many as the limit, and no more",
			Rule: "AppendAll takes MaxBulk entries; one more is ErrTooLarge that names the limit, and changes nothing.",
			Run:  bulkLimit,
		}, {
			Name: "bulk/watchers get each entry",
			Rule: "A watcher is given the entries of a bulk one by one, in order, each with a cursor that is good to go on from.",
			Run:  bulkWatched,
		}, {
			Name: "bulk/races with single appends",
			Rule: "Of bulks and single appends that follow the same entry one wins; the log holds whole bulks only.",
			Run:  bulkRace,
		},
	}
	for i := range cases {
		cases[i].Needs = NeedBulkAppender
	}
	return cases
}

func appendAll(ctx context.Context, s posthouse.Store, bs ...*posthouse.Batch) error {
	return s.(posthouse.BulkAppender).AppendAll(ctx, bs)
}

// bulkOf builds batches of one thread that follow each other.
func (l *Log) bulkOf(n int, what string) (bs []*posthouse.Batch) {
	for i := range n {
		b := l.Next(l.Checkpoint(posthouse.Header{Node: what, Labels: map[string]string{"n": fmt.Sprint(i)}}, fmt.Sprint(what, " ", i)), l.Step("s", []byte(what)))
		l.Took(b)
		bs = append(bs, b)
	}
	return bs
}

func bulkSame(t *T) {
	l, id, gone := t.Builder.Log("t1"), posthouse.ID("foreign"), t.Builder.GateID()
	left := t.Builder.GateID()
	var bs []*posthouse.Batch
	add := func(items ...Item) {
		b := l.Next(items...)
		l.Took(b)
		bs = append(bs, b)
	}
	add(l.Checkpoint(posthouse.Header{ID: id, Coordination: "desk"}, "first"))
	add(l.Checkpoint(posthouse.Header{Status: posthouse.StatusWaiting}, "asks"), l.Gate(gone, t.Builder.Now()), l.Gate(left, t.Builder.Now()))
	add(l.Decision(gone))
	revised := l.Checkpoint(posthouse.Header{ID: id, Coordination: "desk", Revision: 1}, "first, revised")
	revised.Index[0].Replace = true
	add(revised) // within the same bulk
	dropped := l.Checkpoint(posthouse.Header{}, "to be dropped")
	add(dropped)
	add(l.Removal(dropped.Index[0].ID))
	t.Builder.Advance(-1e9)
	bs = append(bs, l.bulkOf(300, "many")...) // more than a store may want in one page
	ids := []posthouse.ID{id, gone, left}
	model := NewModel()
	for _, b := range bs {
		t.OK(model.Append(t.ctx, b))
		for _, i := range b.IDs {
			ids = append(ids, i.ID)
		}
	}
	for chunk := range slices.Chunk(bs, posthouse.MaxBulk) {
		t.OK(appendAll(t.ctx, t.Store, chunk...))
	}
	t.WantThreads("Threads", t.Threads(posthouse.ThreadQuery{}), l.Info)
	t.WantThreads("open gates", t.Threads(posthouse.ThreadQuery{Gates: true}), All(t, model.Threads(t.ctx, posthouse.ThreadQuery{Gates: true}))...)
	t.WantSame(t.Store, model, ids)
	t.mustAppend(l, l.Checkpoint(posthouse.Header{}, "the log goes on"))
}

func bulkAtomic(t *T) {
	taken := t.Builder.Log("other")
	theirs := t.checkpoint(taken, posthouse.Header{ID: "theirs"}, "x")
	l := t.Builder.Log("t1")
	kept := t.checkpoint(l, posthouse.Header{ID: "kept"}, "x")
	before := *l.Info
	for what, last := range map[string]func() Item{
		"an id of another thread":       func() Item { return l.Checkpoint(posthouse.Header{ID: theirs.ID}, "y") },
		"an id that the thread has":     func() Item { return l.Checkpoint(posthouse.Header{ID: kept.ID}, "y") },
		"an id that the bulk has twice": func() Item { return l.Checkpoint(posthouse.Header{ID: "twice"}, "y") },
	} {
		l = t.Builder.Resume(&before)
		bs := l.bulkOf(5, "refused")
		drop := l.Next(l.Checkpoint(posthouse.Header{ID: "twice"}, "y"))
		drop.Drop = append(drop.Drop, kept.ID)
		l.Took(drop)
		if what == "an id that the thread has" {
			drop.Drop = nil
		}
		refused := l.Next(last())
		l.Took(refused)
		bs = append(append(bs, drop, refused), l.bulkOf(2, "behind")...)
		t.WantCode(what, appendAll(t.ctx, t.Store, bs...), posthouse.CodeExists)
		if got := t.Read("t1", posthouse.Range{}); len(got) != 1 {
			t.Errorf("%s: the log has entries %v, want 1", what, seqs(got))
		}
		t.WantThreads(what, t.Threads(posthouse.ThreadQuery{Thread: "t1"}), &before)
		t.WantPlace(kept.ID, "t1", 1)
		t.WantPlace("twice", "", 0)
		t.WantPlace(headers(bs[0].Entry)[0].ID, "", 0)
		t.WantHeaders(what, t.List(posthouse.Query{Thread: "t1"}), kept)
		t.WantHeaders(what, t.List(posthouse.Query{Node: "refused"}))
	}
	l = t.Builder.Resume(&before)
	t.OK(appendAll(t.ctx, t.Store, l.bulkOf(5, "after all")...))
	t.WantThreads("Threads", t.Threads(posthouse.ThreadQuery{Thread: "t1"}), l.Info)
}

func bulkConflict(t *T) {
	l := t.Builder.Log("t1")
	t.mustAppend(l, l.Step("a", []byte("a")))
	old := *l.Info
	t.mustAppend(l, l.Step("b", []byte("b")))
	late := t.Builder.Resume(&old)
	bs := late.bulkOf(3, "late")
	err := appendAll(t.ctx, t.Store, bs...)
	t.WantCode("behind another entry", err, posthouse.CodeConflict)
	t.WantTail("behind another entry", err, l.Info.Tail)
	err = appendAll(t.ctx, t.Store, t.Builder.Resume(&posthouse.ThreadInfo{Thread: "t2", Generation: 1, Tail: old.Tail, Link: old.Link}).bulkOf(2, "x")...)
	t.WantCode("of a log that does not exist", err, posthouse.CodeConflict)
	t.WantTail("of a log that does not exist", err, posthouse.Position{})
	t.WantThreads("Threads", t.Threads(posthouse.ThreadQuery{}), l.Info)
}

func bulkAgain(t *T) {
	l := t.Builder.Log("t1")
	bs := l.bulkOf(6, "x")
	t.OK(appendAll(t.ctx, t.Store, bs[:4]...))
	t.OK(appendAll(t.ctx, t.Store, bs[:4]...))
	t.OK(appendAll(t.ctx, t.Store, bs[2:4]...)) // also those in the middle
	t.OK(appendAll(t.ctx, t.Store, bs...))      // some there, some not
	t.OK(appendAll(t.ctx, t.Store, bs[:2]...))
	var want []*posthouse.Entry
	for _, b := range bs {
		want = append(want, b.Entry)
		t.OK(t.Store.Append(t.ctx, b))
	}
	t.WantEntries("Read", t.Read("t1", posthouse.Range{}), want)
	t.WantThreads("Threads", t.Threads(posthouse.ThreadQuery{}), l.Info)
}

func bulkInvalid(t *T) {
	a, b := t.Builder.Log("a").bulkOf(3, "x"), t.Builder.Log("b").bulkOf(3, "x")
	for what, bs := range map[string][]*posthouse.Batch{
		"two threads": {a[0], b[0]}, "out of order": {a[1], a[0]}, "with a gap": {a[0], a[2]}, "one twice": {a[0], a[0]},
	} {
		t.WantCode(what, appendAll(t.ctx, t.Store, bs...), posthouse.CodeInvalid)
	}
	t.OK(appendAll(t.ctx, t.Store))
	t.WantThreads("Threads", t.Threads(posthouse.ThreadQuery{}))
}

func bulkLimit(t *T) {
	l := t.Builder.Log("t1")
	first := t.mustAppend(l, l.Step("first", nil))
	bs := l.bulkOf(posthouse.MaxBulk+1, "x")
	err := appendAll(t.ctx, t.Store, bs...)
	t.WantCode("one more", err, posthouse.CodeTooLarge)
	if err != nil && !strings.Contains(err.Error(), strconv.Itoa(posthouse.MaxBulk)) {
		t.Errorf("the error does not name the limit: %v", err)
	}
	t.WantEntries("Read", t.Read("t1", posthouse.Range{}), []*posthouse.Entry{first})
	t.OK(appendAll(t.ctx, t.Store, bs[:posthouse.MaxBulk]...))
	t.OK(t.Store.Append(t.ctx, bs[posthouse.MaxBulk]))
	t.WantThreads("Threads", t.Threads(posthouse.ThreadQuery{}), l.Info)
}

func bulkWatched(t *T) {
	if _, ok := t.Store.(posthouse.Watcher); !ok {
		return
	}
	l := t.Builder.Log("t1")
	want := []*posthouse.Entry{t.mustAppend(l, l.Step("a", nil))}
	bs := l.bulkOf(100, "x")
	for _, b := range bs {
		want = append(want, b.Entry)
	}
	got := make(chan []*posthouse.Entry)
	go func() {
		var es []*posthouse.Entry
		for e, err := range t.watch(t.ctx, "") {
			if err != nil {
				t.Error(err)
				break
			}
			es = append(es, e)
			if len(es) == len(want) {
				break
			}
		}
		got <- es
	}()
	t.OK(appendAll(t.ctx, t.Store, bs...))
	es := <-got
	t.WantEntries("Watch", es, want)
	if len(es) > 50 {
		t.WantEntries("Watch from the middle", t.watched(es[49].Cursor, 51), want[50:])
	}
}

// bulkRace lets writers of one to four entries at once race for a thread. An entry of
// each bulk says how many there are.
func bulkRace(t *T) {
	const writers, rounds, room = 6, 20, 8
	first := t.Builder.Log("t1")
	t.mustAppend(first, first.Step("begin", nil))
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() {
			for won := 0; won < rounds; {
				l, err := t.Tail("t1")
				if err != nil {
					t.Error(err)
					return
				}
				var bs []*posthouse.Batch
				n := 1 + w%4
				for i := range n {
					b := l.Next(l.Step(fmt.Sprintf("%d of %d", i+1, n), Filler(room, "x")))
					l.Took(b)
					bs = append(bs, b)
				}
				if n == 1 {
					err = t.Store.Append(t.ctx, bs[0])
				} else {
					err = appendAll(t.ctx, t.Store, bs...)
				}
				switch {
				case err == nil:
					won++
				case !isCode(err, posthouse.CodeConflict):
					t.Errorf("a race is lost with %v, want a conflict", err)
					return
				}
			}
		})
	}
	group.Wait()
	i, n := 0, 0 // of the bulk that the log is in
	for _, e := range t.Read("t1", posthouse.Range{From: 2}) {
		recs, err := e.Records()
		t.OK(err)
		var at, of int
		if _, err := fmt.Sscanf(recs[0].Step.Name, "%d of %d", &at, &of); err != nil {
			t.Fatal(err)
		}
		if i == n {
			i, n = 0, of
		}
		if i++; at != i || of != n {
			t.Fatalf("entry %d is %d of %d, want %d of %d", e.Seq, at, of, i, n)
		}
	}
	if i != n {
		t.Errorf("the log ends in the middle of a bulk")
	}
}
