package storetest

import (
	"fmt"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/lists"
	"github.com/posthouse/posthouse/store/storetest/internal/model"
)

func readCases() []Case {
	return []Case{
		{
			Name: "read/an unknown thread is empty",
			Rule: "Reading a thread that is not there yields nothing and no error.",
			Run:  readUnknown,
		}, {
			Name: "read/ranges",
			Rule: "From and To are inclusive, To 0 is the tail, Reverse starts at the newest, Limit counts from where the reading starts; whatever lies outside the log is passed over.",
			Run:  readRanges,
		}, {
			Name: "read/chosen entries",
			Rule: "Seqs, if not nil, selects these entries in this order and nothing else; those absent are passed over; an empty list is no entry.",
			Run:  readSeqs,
		}, {
			Name:  "read/entries of several threads",
			Rule:  "ReadAll returns the entries at the places in this order, however many; those absent are passed over; the same place may be named twice.",
			Run:   readPlaces,
			Needs: NeedBulkReader,
		}, {
			Name: "read/headers only",
			Rule: "With Headers no body is returned, and everything else is.",
			Run:  readHeaders,
		}, {
			Name: "read/a long log in either direction",
			Rule: "However the store pages its reading, each entry comes once and in order.",
			Run:  readLong,
		}, {
			Name: "read/an iterator may be left early and the store used within it",
			Rule: "A loop over an iterator may call the store, appends to the same thread included, and may end at any element; nothing blocks or leaks.",
			Run:  readEarly,
		},
	}
}

func readUnknown(t *T) {
	for _, r := range []posthouse.Range{{}, {From: 3}, {Reverse: true, Limit: 1}, {Seqs: []uint64{1, 2}}} {
		t.WantEntries(fmt.Sprintf("%+v", r), t.Read("nobody", r), nil)
	}
}

// log appends n entries to a thread.
func (t *T) log(thread string, n int) (l *Log, es []*posthouse.Entry) {
	t.Helper()
	l = t.Builder.Log(thread)
	for i := range n {
		es = append(es, t.mustAppend(l, l.Step("s", []byte(fmt.Sprint("result ", i+1)))))
	}
	return l, es
}

func readRanges(t *T) {
	const n = 6
	_, es := t.log("t1", n)
	t.log("t0", 3)
	t.log("t2", 9)
	for from := range uint64(n + 3) {
		for to := range uint64(n + 3) {
			for _, limit := range []int{0, 1, 2, n, 100} {
				for _, reverse := range []bool{false, true} {
					r := posthouse.Range{From: from, To: to, Limit: limit, Reverse: reverse}
					t.WantEntries(fmt.Sprintf("%+v", r), t.Read("t1", r), model.Entries(es, r))
				}
			}
		}
	}
	r := posthouse.Range{From: 1 << 62, To: 1<<63 - 1}
	t.WantEntries("far beyond the tail", t.Read("t1", r), nil)
}

func readSeqs(t *T) {
	_, es := t.log("t1", 300)
	t.log("t2", 5)
	many := make([]uint64, 0, 300)
	for i := range uint64(300) {
		many = append(many, 300-i)
	}
	for _, seqs := range [][]uint64{{}, {3}, {1, 2, 3}, {5, 1, 3}, {0}, {301}, {7, 301, 0, 2, 1 << 62}, many} {
		r := posthouse.Range{Seqs: seqs}
		t.WantEntries(fmt.Sprintf("Seqs %v", brief(seqs)), t.Read("t1", r), model.Entries(es, r))
		r.Headers = true
		t.wantBare(fmt.Sprintf("Seqs %v", brief(seqs)), t.Read("t1", r), model.Entries(es, r))
	}
}

func readPlaces(t *T) {
	logs := map[string][]*posthouse.Entry{}
	var all []posthouse.Ref
	for i := range 20 {
		name := fmt.Sprint("t", i)
		_, logs[name] = t.log(name, 40)
		for seq := range uint64(40) {
			all = append(all, posthouse.Ref{Thread: name, Seq: 40 - seq})
		}
	}
	at := func(thread string, seq uint64) posthouse.Ref { return posthouse.Ref{Thread: thread, Seq: seq} }
	for _, refs := range [][]posthouse.Ref{
		nil, {at("t3", 2)}, {at("t3", 2), at("t1", 7), at("t3", 1), at("t3", 2)}, {at("nobody", 1), at("t1", 0), at("t1", 41), at("t2", 1<<62), at("t0", 1)}, all,
	} {
		var want, bare []*posthouse.Entry
		for _, r := range refs {
			want = append(want, model.Entries(logs[r.Thread], posthouse.Range{Seqs: []uint64{r.Seq}})...)
			bare = append(bare, model.Entries(logs[r.Thread], posthouse.Range{Seqs: []uint64{r.Seq}, Headers: true})...)
		}
		what, s := fmt.Sprintf("%d places", len(refs)), t.Store.(lists.BulkReader)
		t.WantEntries(what, All(t, s.ReadAll(t.ctx, refs, false)), want)
		t.wantBare(what, All(t, s.ReadAll(t.ctx, refs, true)), bare)
	}
}

// wantBare compares entries that must have no body.
func (t *T) wantBare(what string, got, want []*posthouse.Entry) {
	t.Helper()
	for _, e := range got {
		for i, b := range e.Bodies {
			if b != nil {
				t.Errorf("%s: headers only, but entry %d has body %d", what, e.Seq, i)
			}
		}
		e.Bodies = nil
	}
	t.WantEntries(what, got, want)
}

func readHeaders(t *T) {
	l, es := t.log("t1", 5)
	b := l.Signed(Filler(90, "signature"), l.Checkpoint(posthouse.Header{}, "state"), l.Step("s", []byte("x")))
	t.OK(t.Store.Append(t.ctx, b))
	es = append(es, b.Entry)
	for _, r := range []posthouse.Range{{}, {Reverse: true}, {From: 2, To: 4}, {Reverse: true, Limit: 2}} {
		r.Headers = true
		t.wantBare(fmt.Sprintf("%+v", r), t.Read("t1", r), model.Entries(es, r))
	}
}

func readLong(t *T) {
	_, es := t.log("t1", 700)
	for _, r := range []posthouse.Range{{}, {Reverse: true}, {From: 100, To: 650}, {From: 3, Reverse: true, Limit: 600}} {
		t.WantEntries(fmt.Sprintf("%+v", r), t.Read("t1", r), model.Entries(es, r))
	}
}

func readEarly(t *T) {
	l, _ := t.log("t1", 400)
	u, _ := t.log("t2", 1)
	for i, r := range []posthouse.Range{{}, {Reverse: true}, {Limit: 300}} {
		n := 0
		for e, err := range t.Store.Read(t.ctx, "t1", r) {
			t.OK(err)
			if n++; n == 3 {
				break
			}
			t.mustAppend(l, l.Step("within", []byte(fmt.Sprint(i, e.Seq))))
			t.mustAppend(u, u.Checkpoint(posthouse.Header{}, "within"))
			for h, err := range t.Store.List(t.ctx, posthouse.Query{}) {
				t.OK(err)
				for _, err := range t.Store.Threads(t.ctx, posthouse.ThreadQuery{}) {
					t.OK(err)
					t.WantPlace(h.ID, "t2", h.Seq)
					break
				}
				break
			}
		}
	}
	if n := len(t.Read("t1", posthouse.Range{})); n != 406 {
		t.Errorf("the log has %d entries, want 406", n)
	}
}
