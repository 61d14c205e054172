package storetest

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/posthouse/posthouse"
)

func machineCases() []Case {
	return []Case{{
		Name: "machine/any history gives what the model gives",
		Rule: "Whatever the order of appends, replacements, drops, removals, slots and retries, on several threads and branches, errors and answers are those of the Model.",
		Run: func(t *T) {
			rapid.Check(t.test, func(rt *rapid.T) { t.machine(rt) })
		},
	}}
}

// A machine is one random history on a store and on the model.
type machine struct {
	*T
	rt    *rapid.T
	model *Model
	logs  map[string]*Log
	ids   []posthouse.ID     // ever used
	old   []*posthouse.Batch // ever taken
}

func (t *T) machine(rt *rapid.T) {
	dir, err := os.MkdirTemp(t.dir, "machine-")
	t.ok(err)
	m := &machine{rt: rt, model: NewModel(), logs: map[string]*Log{}}
	m.T = &T{TB: rt, Harness: t.Harness, Store: t.Harness.Open(t.test, dir), Builder: NewBuilder(), test: t.test, ctx: t.ctx, dir: dir}
	defer func() {
		if err := m.Store.Close(); err != nil {
			rt.Errorf("Close: %v", err)
		}
		if err := os.RemoveAll(dir); err != nil {
			rt.Errorf("cleaning up: %v", err)
		}
	}()
	rt.Repeat(map[string]func(*rapid.T){
		"checkpoint": m.actCheckpoint,
		"question":   m.actQuestion,
		"decision":   m.actDecision,
		"claim":      m.actClaim,
		"release":    m.actRelease,
		"replace":    m.actReplace,
		"drop":       m.actDrop,
		"take an id": m.actTakeID,
		"late":       m.actLate,
		"again":      m.actAgain,
		"remove":     m.actRemove,
		"slot":       m.actSlot,
		"query":      m.actQuery,
		"":           func(*rapid.T) { m.wantSame(m.Store, m.model, m.ids) },
	})
	m.check(m.Store)
}

func draw[V any](m *machine, what string, of ...V) V {
	return of[rapid.IntRange(0, len(of)-1).Draw(m.rt, what)]
}

// log draws one of a few threads.
func (m *machine) log() *Log {
	name := draw(m, "thread", "a", "b", "B", "a.b")
	if m.logs[name] == nil {
		m.logs[name] = m.Builder.Log(name)
	}
	return m.logs[name]
}

// append does the same to both and wants the same answer.
func (m *machine) append(l *Log, b *posthouse.Batch) {
	got, want := m.Store.Append(m.ctx, b), m.model.Append(m.ctx, b)
	m.wantError("Append", got, want)
	for _, id := range b.IDs {
		m.ids = append(m.ids, id.ID)
	}
	if want == nil && b.After == l.Info.Tail {
		l.Took(b)
		m.old = append(m.old, b)
	}
}

// wantError compares codes, and tails where the log has moved on.
func (m *machine) wantError(what string, got, want error) {
	if want == nil {
		if got != nil {
			m.Fatalf("%s: %v, want success", what, got)
		}
		return
	}
	var w *posthouse.Error
	if !errors.As(want, &w) || !isCode(got, w.Code) {
		m.Fatalf("%s: got %v, want %v", what, got, want)
	}
	if w.Tail != nil {
		m.wantTail(what, got, *w.Tail)
	}
}

// header draws a checkpoint's header.
func (m *machine) header() posthouse.Header {
	h := posthouse.Header{
		Branch: draw(m, "branch", "main", "main", "draft", "fork-2"), Coordination: draw(m, "coordination", "", "", "desk", "a"),
		Agent: draw(m, "agent", "", "x", "y"), Node: draw(m, "node", "", "n1"),
		Status: draw(m, "status", posthouse.StatusRunning, posthouse.StatusDone, posthouse.StatusSaved),
	}
	if rapid.Bool().Draw(m.rt, "label") {
		h.Labels = map[string]string{draw(m, "name", "k", "K"): draw(m, "value", "", "v")}
	}
	if rapid.IntRange(0, 3).Draw(m.rt, "foreign") == 0 {
		h.ID = posthouse.ID(fmt.Sprintf("%s%d", draw(m, "prefix", "x", "$", "."), len(m.ids)))
	}
	m.Builder.Advance(draw(m, "passes", 0, 0, time.Millisecond, -time.Millisecond, time.Hour))
	return h
}

func (m *machine) actCheckpoint(*rapid.T) {
	l := m.log()
	items := []Item{l.Checkpoint(m.header(), draw(m, "state", "", "s", "a longer state"))}
	for range rapid.IntRange(0, 2).Draw(m.rt, "steps") {
		items = append(items, l.Step("s", rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(m.rt, "result")))
	}
	m.append(l, l.Next(items...))
}

func (m *machine) actQuestion(*rapid.T) {
	l := m.log()
	h := m.header()
	h.Status = posthouse.StatusWaiting
	expires := draw(m, "expires", time.Time{}, m.Builder.Now(), m.Builder.Now().Add(time.Hour))
	m.append(l, l.Next(l.Checkpoint(h, "asks"), l.Gate(m.Builder.GateID(), expires)))
}

func (m *machine) actDecision(rt *rapid.T) {
	l := m.log()
	if len(l.Info.Waiting) == 0 {
		return
	}
	m.append(l, l.Signed([]byte("signature"), l.Decision(draw(m, "gate", l.Info.Waiting...).ID)))
}

func (m *machine) actClaim(*rapid.T) {
	l := m.log()
	m.append(l, l.Next(l.Claim("host", l.Info.Lease.Fence+1, rapid.Bool().Draw(m.rt, "unclaim"))))
}

func (m *machine) actRelease(*rapid.T) {
	l := m.log()
	items := []Item{}
	if rapid.Bool().Draw(m.rt, "with a checkpoint") {
		items = append(items, l.Checkpoint(m.header(), "the end"))
	}
	m.append(l, l.Next(append(items, l.Release())...))
}

// indexed draws a checkpoint that is in the index.
func (m *machine) indexed(thread string) *posthouse.Header {
	hs := all(m.T, m.model.List(m.ctx, posthouse.Query{Thread: thread}))
	if len(hs) == 0 {
		return nil
	}
	return draw(m, "checkpoint", hs...)
}

func (m *machine) actReplace(*rapid.T) {
	l := m.log()
	old := m.indexed(l.Info.Thread)
	if old == nil {
		return
	}
	h := m.header()
	h.ID, h.Order, h.Revision = old.ID, old.Order, old.Revision+1
	m.append(l, l.Next(l.Checkpoint(h, "replaced")))
}

func (m *machine) actDrop(*rapid.T) {
	l := m.log()
	if h := m.indexed(""); h != nil {
		m.append(l, l.Next(l.Removal(h.ID), l.Checkpoint(m.header(), "in its place")))
	}
}

func (m *machine) actTakeID(*rapid.T) {
	if h := m.indexed(""); h != nil {
		l := m.log()
		m.append(l, l.Next(l.Checkpoint(m.header(), "x"), Item{
			Record: l.Step("s", nil).Record, Index: []posthouse.IndexedID{{ID: h.ID, Order: h.Order}},
		}))
	}
}

// actLate appends behind a place that may be past, or never was.
func (m *machine) actLate(*rapid.T) {
	l := m.log()
	info := *l.Info
	if info.Tail.Seq += draw(m, "off by", ^uint64(0), 0, 1); info.Tail.Seq == l.Info.Tail.Seq {
		info.Tail.Hash[3] ^= 1
	}
	late := m.Builder.Resume(&info)
	m.append(l, late.Next(late.Checkpoint(m.header(), "late")))
}

func (m *machine) actAgain(*rapid.T) {
	if len(m.old) > 0 {
		b := draw(m, "batch", m.old...)
		m.wantError("Append again", m.Store.Append(m.ctx, b), m.model.Append(m.ctx, b))
	}
}

func (m *machine) actRemove(*rapid.T) {
	l := m.log()
	r := posthouse.Removal{Thread: l.Info.Thread}
	switch seq := rapid.Uint64Range(1, l.Info.Tail.Seq+1).Draw(m.rt, "seq"); draw(m, "what", "bodies", "bodies", "below", "between", "all") {
	case "bodies":
		r.Bodies = []posthouse.BodyRef{{Seq: seq}, {Seq: seq + 1, Record: 1}}
	case "below":
		r.Below = seq
	case "between": // only whole versions go, or the log would not chain
		r.From, r.Below = m.version(l)
	case "all":
		r.All = true
		l.Info, l.base = &posthouse.ThreadInfo{Thread: l.Info.Thread}, posthouse.Hash{}
		m.old = slices.DeleteFunc(m.old, func(b *posthouse.Batch) bool { return b.Entry.Thread == r.Thread })
	}
	got, err := m.Store.Remove(m.ctx, r)
	want, werr := m.model.Remove(m.ctx, r)
	m.wantError("Remove", err, werr)
	if got.Entries != want.Entries || len(r.Bodies) > 0 && got.Bodies != want.Bodies {
		m.Errorf("Remove(%+v): took %+v, want %+v", r, got, want)
	}
}

// version draws a released version and returns its entries, but for the
// release; nothing where there is none.
func (m *machine) version(l *Log) (from, below uint64) {
	var spans [][2]uint64
	for _, e := range all(m.T, m.model.Read(m.ctx, l.Info.Thread, posthouse.Range{Headers: true})) {
		recs, err := e.Records()
		must(err)
		if r := recs[len(recs)-1].Release; r != nil {
			spans = append(spans, [2]uint64{r.First, e.Seq})
		}
	}
	if len(spans) == 0 {
		return 0, 1
	}
	s := draw(m, "version", spans...)
	return s[0], s[1]
}

func (m *machine) actSlot(*rapid.T) {
	key := posthouse.SlotKey{Thread: draw(m, "thread", "a", "a.b"), Step: draw(m, "step", "s", "b.s")}
	have, _ := m.Store.Slot(m.ctx, key, posthouse.SlotOp{})
	expected, _ := m.model.Slot(m.ctx, key, posthouse.SlotOp{})
	op := posthouse.SlotOp{
		Verb: draw(m, "verb", posthouse.SlotGet, posthouse.SlotPut, posthouse.SlotDelete), Value: []byte(draw(m, "value", "", "x", "y")),
		Revision: draw(m, "revision", 0, posthouse.AnyRevision, 1), Fence: draw(m, "fence", uint64(0), 0, 3, 4),
	}
	modelOp := op
	if op.Revision == 1 { // the current one, by each store's own numbers
		op.Revision, modelOp.Revision = have.Revision, expected.Revision
	}
	got, err := m.Store.Slot(m.ctx, key, op)
	want, werr := m.model.Slot(m.ctx, key, modelOp)
	m.wantError("Slot", err, werr)
	if op.Verb == posthouse.SlotGet && string(got.Value) != string(want.Value) {
		m.Errorf("slot %q: got %q, want %q", key, got.Value, want.Value)
	}
}

func (m *machine) actQuery(*rapid.T) {
	q := posthouse.Query{
		Thread: draw(m, "thread", "", "", "a", "B"), Coordination: draw(m, "coordination", "", "", "desk", "a"), Agent: draw(m, "agent", "", "x"),
		Branch: draw(m, "branch", "", "draft"), Status: draw(m, "status", "", posthouse.StatusDone), Label: draw(m, "label", "", "", "k"),
		Generation: draw(m, "generation", uint32(0), 0, 1, 2), From: draw(m, "first", uint64(0), 0, 3), To: draw(m, "last", uint64(0), 0, 6),
		Descending: rapid.Bool().Draw(m.rt, "descending"), Limit: rapid.IntRange(0, 5).Draw(m.rt, "limit"),
	}
	if h := m.indexed(q.Thread); h != nil && rapid.Bool().Draw(m.rt, "after") {
		q.After = h.Cursor()
	}
	m.wantHeaders(fmt.Sprintf("%+v", q), all(m.T, m.Store.List(m.ctx, q)), all(m.T, m.model.List(m.ctx, q))...)

	name := draw(m, "thread", "a", "b", "nobody")
	r := posthouse.Range{
		From: rapid.Uint64Range(0, 9).Draw(m.rt, "from"), To: rapid.Uint64Range(0, 9).Draw(m.rt, "to"),
		Reverse: rapid.Bool().Draw(m.rt, "reverse"), Limit: rapid.IntRange(0, 4).Draw(m.rt, "limit"),
	}
	m.wantEntries(fmt.Sprintf("Read %s %+v", name, r), all(m.T, m.Store.Read(m.ctx, name, r)), all(m.T, m.model.Read(m.ctx, name, r)))
}
