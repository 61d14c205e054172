package stresstest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/storetest"
)

func machineCases() []storetest.Case {
	return []storetest.Case{{
		Name: "machine/any history gives what the model gives",
		Rule: "Whatever the order of appends, replacements, drops, removals, slots and retries, on several threads and branches, errors and answers are those of the Model.",
		Run:  machines,
	}}
}

// machines runs random histories. The first that fails is shortened and printed.
func machines(t *storetest.T) {
	n, seed := 100, t.Harness.Seed
	switch {
	case t.Harness.Short:
		n = 10 // internal/proof/differential has random histories on each store, too
	case t.Harness.Long:
		n = 1000
	}
	if seed == 0 {
		seed = rand.Uint64()
	}
	for i := range n {
		p := &tape{rnd: rand.New(rand.NewPCG(seed, uint64(i)))}
		if a := play(t, p); a.Failed() {
			report(t, p, a, fmt.Sprintf("seed %d, history %d", seed, i))
			return
		}
	}
}

// report shortens a history that failed, and fails the case with it.
func report(t *storetest.T, p *tape, a *storetest.Attempt, name string) {
	t.Helper()
	acts := shorten(p.acts, func(acts [][]int) bool { return t.Context().Err() == nil && play(t, &tape{acts: acts}).Failed() })
	again := &tape{acts: acts}
	if b := play(t, again); b.Failed() {
		a = b
	} else {
		again = p // it does not fail each time
	}
	t.Errorf("%s, shortened from %d acts to %d:\n%s%s", name, len(p.acts), len(again.acts), again.played.String(), a.Said())
}

// A machine is one random history on a store and on the model.
type machine struct {
	*storetest.T
	tape  *tape
	model storetest.Model
	logs  map[string]*storetest.Log
	ids   []posthouse.ID     // ever used
	old   []*posthouse.Batch // ever taken
}

// play plays one history on an empty store.
func play(t *storetest.T, p *tape) *storetest.Attempt {
	return storetest.Try(t, func(a storetest.TB) {
		m := &machine{T: t.Again(a), tape: p, model: storetest.NewModel(), logs: map[string]*storetest.Log{}}
		acts := m.acts()
		for steps := p.steps(); p.next(steps); {
			act := acts[p.number(len(acts))]
			p.begin(act.name)
			act.play()
			m.WantSame(m.Store, m.model, m.ids)
		}
		m.Check(m.Store)
	})
}

// An act is one step of a history.
type act struct {
	name string
	play func()
}

func (m *machine) acts() []act {
	return []act{
		{"checkpoint", m.actCheckpoint}, {"question", m.actQuestion}, {"decision", m.actDecision}, {"claim", m.actClaim}, {"release", m.actRelease},
		{"replace", m.actReplace}, {"drop", m.actDrop}, {"take an id", m.actTakeID}, {"late", m.actLate}, {"again", m.actAgain},
		{"remove", m.actRemove}, {"slot", m.actSlot}, {"query", m.actQuery},
	}
}

func draw[V any](m *machine, what string, of ...V) V {
	v := of[m.tape.number(len(of))]
	m.tape.note(what, v)
	return v
}

func (m *machine) flip(what string) bool { return draw(m, what, false, true) }

// upTo draws a number from low to high.
func (m *machine) upTo(what string, low, high int) int {
	n := low + m.tape.number(high-low+1)
	m.tape.note(what, n)
	return n
}

// log draws one of a few threads.
func (m *machine) log() *storetest.Log {
	name := draw(m, "thread", "a", "b", "B", "a.b")
	if m.logs[name] == nil {
		m.logs[name] = m.Builder.Log(name)
	}
	return m.logs[name]
}

// append appends to both and wants the same answer.
func (m *machine) append(l *storetest.Log, b *posthouse.Batch) {
	got, want := m.Store.Append(m.Context(), b), m.model.Append(m.Context(), b)
	m.wantError("Append", got, want)
	for _, id := range b.IDs {
		m.ids = append(m.ids, id.ID)
	}
	if want == nil && b.After == l.Info.Tail {
		l.Took(b)
		m.old = append(m.old, b)
	}
}

// wantError compares codes, and for a conflict the tails.
func (m *machine) wantError(what string, got, want error) {
	if want == nil {
		if got != nil {
			m.Fatalf("%s: %v, want success", what, got)
		}
		return
	}
	var w *posthouse.Error
	if !errors.As(want, &w) || !errors.Is(got, &posthouse.Error{Code: w.Code}) {
		m.Fatalf("%s: got %v, want %v", what, got, want)
	}
	if w.Tail != nil {
		m.WantTail(what, got, *w.Tail)
	}
}

// header draws a checkpoint's header.
func (m *machine) header() posthouse.Header {
	h := posthouse.Header{
		Branch: draw(m, "branch", "main", "main", "draft", "fork-2"), Coordination: draw(m, "coordination", "", "", "desk", "a"),
		Agent: draw(m, "agent", "", "x", "y"), Node: draw(m, "node", "", "n1"),
		Status: draw(m, "status", posthouse.StatusRunning, posthouse.StatusDone, posthouse.StatusSaved),
	}
	if m.flip("label") {
		h.Labels = map[string]string{draw(m, "name", "k", "K"): draw(m, "value", "", "v")}
	}
	if m.upTo("foreign", 0, 3) == 0 {
		h.ID = posthouse.ID(fmt.Sprintf("%s%d", draw(m, "prefix", "x", "$", "."), len(m.ids)))
	}
	m.Builder.Advance(draw(m, "passes", 0, 0, time.Millisecond, -time.Millisecond, time.Hour))
	return h
}

func (m *machine) actCheckpoint() {
	l := m.log()
	items := []storetest.Item{l.Checkpoint(m.header(), draw(m, "state", "", "s", "a longer state"))}
	for range m.upTo("steps", 0, 2) {
		items = append(items, l.Step("s", storetest.Filler(m.upTo("result", 0, 40), draw(m, "bytes", "", "\x00", "\xff"))))
	}
	m.append(l, l.Next(items...))
}

func (m *machine) actQuestion() {
	l := m.log()
	h := m.header()
	h.Status = posthouse.StatusWaiting
	expires := draw(m, "expires", time.Time{}, m.Builder.Now(), m.Builder.Now().Add(time.Hour))
	m.append(l, l.Next(l.Checkpoint(h, "asks"), l.Gate(m.Builder.GateID(), expires)))
}

func (m *machine) actDecision() {
	l := m.log()
	if len(l.Info.Waiting) == 0 {
		return
	}
	m.append(l, l.Signed([]byte("signature"), l.Decision(draw(m, "gate", l.Info.Waiting...).ID)))
}

func (m *machine) actClaim() {
	l := m.log()
	m.append(l, l.Next(l.Claim("host", l.Info.Lease.Fence+1, m.flip("unclaim"))))
}

func (m *machine) actRelease() {
	l := m.log()
	items := []storetest.Item{}
	if m.flip("with a checkpoint") {
		items = append(items, l.Checkpoint(m.header(), "the end"))
	}
	m.append(l, l.Next(append(items, l.Release())...))
}

// indexed draws a checkpoint that is in the index.
func (m *machine) indexed(thread string) *posthouse.Header {
	hs := storetest.All(m.T, m.model.List(m.Context(), posthouse.Query{Thread: thread}))
	if len(hs) == 0 {
		return nil
	}
	return draw(m, "checkpoint", hs...)
}

func (m *machine) actReplace() {
	l := m.log()
	old := m.indexed(l.Info.Thread)
	if old == nil {
		return
	}
	h := m.header()
	h.ID, h.Order, h.Revision = old.ID, old.Order, old.Revision+1
	m.append(l, l.Next(l.Checkpoint(h, "replaced")))
}

func (m *machine) actDrop() {
	l := m.log()
	if h := m.indexed(""); h != nil {
		m.append(l, l.Next(l.Removal(h.ID), l.Checkpoint(m.header(), "in its place")))
	}
}

func (m *machine) actTakeID() {
	if h := m.indexed(""); h != nil {
		l := m.log()
		m.append(l, l.Next(l.Checkpoint(m.header(), "x"), storetest.Item{
			Record: l.Step("s", nil).Record, Index: []posthouse.IndexedID{{ID: h.ID, Order: h.Order}},
		}))
	}
}

// actLate appends after a position that may be old or never existed.
func (m *machine) actLate() {
	l := m.log()
	info := *l.Info
	if info.Tail.Seq += draw(m, "off by", ^uint64(0), 0, 1); info.Tail.Seq == l.Info.Tail.Seq {
		info.Tail.Hash[3] ^= 1
	}
	late := m.Builder.Resume(&info)
	m.append(l, late.Next(late.Checkpoint(m.header(), "late")))
}

func (m *machine) actAgain() {
	if len(m.old) > 0 {
		b := draw(m, "batch", m.old...)
		m.wantError("Append again", m.Store.Append(m.Context(), b), m.model.Append(m.Context(), b))
	}
}

func (m *machine) actRemove() {
	l := m.log()
	r := posthouse.Removal{Thread: l.Info.Thread}
	switch seq := uint64(m.upTo("seq", 1, int(l.Info.Tail.Seq)+1)); draw(m, "what", "bodies", "bodies", "below", "between", "all") {
	case "bodies":
		r.Bodies = []posthouse.BodyRef{{Seq: seq}, {Seq: seq + 1, Record: 1}}
	case "below":
		r.Below = seq
	case "between": // only whole versions go, or the log would not chain
		r.From, r.Below = m.version(l)
	case "all":
		r.All = true
		m.logs[r.Thread] = m.Builder.Log(r.Thread)
		m.old = slices.DeleteFunc(m.old, func(b *posthouse.Batch) bool { return b.Entry.Thread == r.Thread })
	}
	got, err := m.Store.Remove(m.Context(), r)
	want, werr := m.model.Remove(m.Context(), r)
	m.wantError("Remove", err, werr)
	if got.Entries != want.Entries || len(r.Bodies) > 0 && got.Bodies != want.Bodies {
		m.Errorf("Remove(%+v): took %+v, want %+v", r, got, want)
	}
}

// version draws a released version and returns its entries without the release. It
// returns nothing if no version was released.
func (m *machine) version(l *storetest.Log) (from, below uint64) {
	var spans [][2]uint64
	for _, e := range storetest.All(m.T, m.model.Read(m.Context(), l.Info.Thread, posthouse.Range{Headers: true})) {
		recs, err := e.Records()
		m.OK(err)
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

func (m *machine) actSlot() {
	key := posthouse.SlotKey{Thread: draw(m, "thread", "a", "a.b"), Step: draw(m, "step", "s", "b.s")}
	have, _ := m.Store.Slot(m.Context(), key, posthouse.SlotOp{})
	expected, _ := m.model.Slot(m.Context(), key, posthouse.SlotOp{})
	op := posthouse.SlotOp{
		Verb: draw(m, "verb", posthouse.SlotGet, posthouse.SlotPut, posthouse.SlotDelete), Value: []byte(draw(m, "value", "", "x", "y")),
		Revision: draw(m, "revision", 0, posthouse.AnyRevision, 1), Fence: draw(m, "fence", uint64(0), 0, 3, 4),
	}
	modelOp := op
	if op.Revision == 1 { // the current one, by each store's own numbers
		op.Revision, modelOp.Revision = have.Revision, expected.Revision
	}
	got, err := m.Store.Slot(m.Context(), key, op)
	want, werr := m.model.Slot(m.Context(), key, modelOp)
	m.wantError("Slot", err, werr)
	if op.Verb == posthouse.SlotGet && string(got.Value) != string(want.Value) {
		m.Errorf("slot %q: got %q, want %q", key, got.Value, want.Value)
	}
}

func (m *machine) actQuery() {
	q := posthouse.Query{
		Thread: draw(m, "thread", "", "", "a", "B"), Coordination: draw(m, "coordination", "", "", "desk", "a"), Agent: draw(m, "agent", "", "x"),
		Branch: draw(m, "branch", "", "draft"), Status: draw(m, "status", "", posthouse.StatusDone), Label: draw(m, "label", "", "", "k"),
		Generation: draw(m, "generation", uint32(0), 0, 1, 2), From: draw(m, "first", uint64(0), 0, 3), To: draw(m, "last", uint64(0), 0, 6),
		Descending: m.flip("descending"), Limit: m.upTo("limit", 0, 5),
	}
	if h := m.indexed(q.Thread); h != nil && m.flip("after") {
		q.After = h.Cursor()
	}
	m.WantHeaders(fmt.Sprintf("%+v", q), storetest.All(m.T, m.Store.List(m.Context(), q)), storetest.All(m.T, m.model.List(m.Context(), q))...)

	name := draw(m, "thread", "a", "b", "nobody")
	r := posthouse.Range{
		From: uint64(m.upTo("from", 0, 9)), To: uint64(m.upTo("to", 0, 9)),
		Reverse: m.flip("reverse"), Limit: m.upTo("limit", 0, 4),
	}
	m.WantEntries(fmt.Sprintf("Read %s %+v", name, r), storetest.All(m.T, m.Store.Read(m.Context(), name, r)), storetest.All(m.T, m.model.Read(m.Context(), name, r)))
}
