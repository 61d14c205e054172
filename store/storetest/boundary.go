package storetest

import (
	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/storetest/internal/model"
)

func boundaryCases() []Case {
	return []Case{
		{
			Name: "boundary/what was handed in belongs to the caller again",
			Rule: "Changing a batch, its entry, bodies, headers and summary, or a slot's value, after the call changes nothing in the store.",
			Run:  boundaryIn,
		}, {
			Name: "boundary/what was handed out belongs to the caller",
			Rule: "Changing entries, headers, summaries and slots that a call returned changes nothing in the store.",
			Run:  boundaryOut,
		},
	}
}

// delicate returns a batch in which every pointer leads to content.
func (t *T) delicate() (l *Log, b *posthouse.Batch, gate posthouse.ID) {
	l, gate = t.Builder.Log("t1"), t.Builder.GateID()
	h := posthouse.Header{
		Status: posthouse.StatusWaiting, Next: []string{"approve"}, Labels: map[string]string{"k": "v"},
		Source: &posthouse.Source{Thread: "t0", ID: "x"}, Coordination: "desk",
	}
	return l, l.Signed(Filler(70, "sig"), l.Checkpoint(h, "state"), l.Gate(gate, t.Builder.Now()), l.Step("s", []byte("result"))), gate
}

// wantDelicate compares all that the store says about one entry.
func (t *T) wantDelicate(what string, want *posthouse.Entry, info *posthouse.ThreadInfo, gate posthouse.ID) {
	t.Helper()
	h := headers(want)[0]
	t.WantEntries(what+": Read", t.Read("t1", posthouse.Range{}), []*posthouse.Entry{want})
	t.WantHeaders(what+": List", t.List(posthouse.Query{}), &h)
	t.WantHeaders(what+": List of the coordination", t.List(posthouse.Query{Coordination: "desk", Label: "k", LabelValue: "v"}), &h)
	t.WantThreads(what+": Threads", t.Threads(posthouse.ThreadQuery{}), info)
	t.WantThreads(what+": Threads that wait", t.Threads(posthouse.ThreadQuery{Waiting: true}), info)
	t.WantPlace(h.ID, "t1", 1)
	t.WantPlace(gate, "t1", 1)
	if w, ok := t.Store.(posthouse.Watcher); ok {
		for e, err := range w.Watch(t.ctx, "") {
			t.OK(err)
			t.WantEntries(what+": Watch", []*posthouse.Entry{e}, []*posthouse.Entry{want})
			Overwrite(e)
			break
		}
	}
}

func boundaryIn(t *T) {
	_, b, gate := t.delicate()
	want, info := model.CloneEntry(b.Entry), &posthouse.ThreadInfo{Thread: "t1"}
	t.OK(info.Apply(want))
	t.OK(t.Store.Append(t.ctx, b))
	Overwrite(b.Entry)
	for i := range b.IDs {
		if b.IDs[i].Header != nil {
			Overwrite(b.IDs[i].Header)
		}
		b.IDs[i].ID = "scribble"
	}
	Overwrite(b.Thread)
	t.wantDelicate("after scribbling over the batch", want, info, gate)

	key, value := posthouse.SlotKey{Thread: "t1", Step: "s"}, []byte("value")
	s, err := t.Store.Slot(t.ctx, key, posthouse.SlotOp{Verb: posthouse.SlotPut, Value: value})
	t.OK(err)
	copy(value, "XXXXX")
	copy(s.Value, "YYYYY")
	t.wantSlot(key, "value", s.Revision)
}

func boundaryOut(t *T) {
	l, b, gate := t.delicate()
	t.OK(t.Store.Append(t.ctx, b))
	l.Took(b)
	s := t.put(posthouse.SlotKey{Thread: "t1", Step: "s"}, "value", 0, 0)
	for range 2 {
		for _, r := range []posthouse.Range{{}, {Reverse: true}, {Headers: true}, {Seqs: []uint64{1}}} {
			for _, e := range t.Read("t1", r) {
				Overwrite(e)
			}
		}
		for _, q := range []posthouse.Query{{}, {Thread: "t1"}, {Coordination: "desk"}} {
			for _, h := range t.List(q) {
				Overwrite(h)
			}
		}
		for _, q := range []posthouse.ThreadQuery{{}, {Thread: "t1"}, {Waiting: true}, {DueBefore: 1 << 50}} {
			for _, info := range t.Threads(q) {
				Overwrite(info)
			}
		}
		got := t.wantSlot(posthouse.SlotKey{Thread: "t1", Step: "s"}, "value", s.Revision)
		copy(got.Value, "XXXXX")
	}
	t.wantDelicate("after scribbling over the answers", b.Entry, l.Info, gate)
	t.wantSlot(posthouse.SlotKey{Thread: "t1", Step: "s"}, "value", s.Revision)
	t.mustAppend(l, l.Step("next", []byte("the log goes on")))
}
