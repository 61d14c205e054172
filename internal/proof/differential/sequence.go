package differential

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/storetest"
)

// watchPatience bounds a watch: an entry that does not come is a difference.
const watchPatience = 30 * time.Second

// A step is one operation, as every store gets it, and the trace of the store in memory.
type step struct {
	number int // in its sequence
	what   string
	do     func(ctx context.Context, s *side) string
	want   string
}

// A writer makes the operations of sequences on the store in memory, and remembers what was
// taken, so that later ones meet it.
type writer struct {
	ctx   context.Context
	b     *storetest.Builder
	first *side
	steps []*step

	rnd    *rand.Rand // of one operation
	number int        // of it
	name   string     // of the sequence
	anchor *storetest.Log
	logs   map[string]*storetest.Log
	ids    []posthouse.ID
	heads  []*posthouse.Header // checkpoints that were taken
	old    []*posthouse.Batch  // taken
}

// do makes an operation and plays it to the store in memory.
func (w *writer) do(what string, f func(ctx context.Context, s *side) string) string {
	s := &step{number: w.number, what: w.name + ": " + what, do: f}
	s.want = f(w.ctx, w.first)
	w.steps = append(w.steps, s)
	return s.want
}

// operations is how many operations a sequence has.
const operations = 14

// sequence plays the operations of a sequence that are not left out. Each draws its numbers
// from a source of its own, so that one can be left out without changing the others.
func (w *writer) sequence(seed uint64, name string, skip map[int]bool) {
	w.name, w.logs, w.ids, w.heads, w.old = name, map[string]*storetest.Log{}, nil, nil, nil
	if w.anchor == nil {
		w.anchor = w.b.Log("anchor")
	}
	acts := []func(){
		w.checkpoint, w.checkpoint, w.question, w.decision, w.claim, w.release, w.replace, w.drop, w.takeID, w.late, w.again, w.bulk,
		w.remove, w.slot, w.slot, w.read, w.read, w.list, w.list, w.threads, w.threads, w.find,
	}
	for i := range operations {
		w.number = i
		if skip[i] {
			continue
		}
		w.rnd = rand.New(rand.NewPCG(seed, uint64(i)))
		acts[w.rnd.IntN(len(acts))]()
	}
	w.number = operations
	b := w.anchor.Next(w.anchor.Step("anchor", []byte(name)))
	w.append("append the anchor", w.anchor, b)
	w.do("watch", func(ctx context.Context, s *side) string { return s.watch(ctx, "anchor", b.Entry.Seq) })
}

func pick[V any](w *writer, of ...V) V { return of[w.rnd.IntN(len(of))] }

// log draws a thread of the sequence.
func (w *writer) log() *storetest.Log {
	name := w.name + "." + pick(w, "a", "b", "B", "a.b")
	if w.logs[name] == nil {
		w.logs[name] = w.b.Log(name)
	}
	return w.logs[name]
}

func (w *writer) append(what string, l *storetest.Log, b *posthouse.Batch) {
	got := w.do(fmt.Sprintf("%s %s/%d after %d", what, b.Entry.Thread, b.Entry.Seq, b.After.Seq), func(ctx context.Context, s *side) string {
		return traceError(s.store.Append(ctx, b))
	})
	w.took(got, l, b)
}

func (w *writer) took(got string, l *storetest.Log, bs ...*posthouse.Batch) {
	for _, b := range bs {
		for _, id := range b.IDs {
			w.ids = append(w.ids, id.ID)
			if got == "ok" && id.Header != nil {
				w.heads = append(w.heads, id.Header)
			}
		}
		if got == "ok" && b.After == l.Info.Tail {
			l.Took(b)
			w.old = append(w.old, b)
		}
	}
}

func (w *writer) header() posthouse.Header {
	h := posthouse.Header{
		Branch: pick(w, "main", "main", "draft"), Coordination: pick(w, "", "", "desk"), Agent: pick(w, "", "x", "y"),
		Node: pick(w, "", "n1", "n1+n2"), Run: pick(w, "", "r"), Graph: pick(w, "", "g"),
		Status: pick(w, posthouse.StatusRunning, posthouse.StatusDone, posthouse.StatusSaved),
	}
	if w.rnd.IntN(2) == 0 {
		h.Labels = map[string]string{pick(w, "k", "K"): pick(w, "", "v")}
	}
	w.b.Advance(pick(w, 0, time.Millisecond, -time.Millisecond, time.Hour))
	return h
}

func (w *writer) checkpoint() {
	l := w.log()
	items := []storetest.Item{l.Checkpoint(w.header(), pick(w, "", "s", "a longer state"))}
	for range w.rnd.IntN(3) {
		items = append(items, l.Step("s", storetest.Filler(w.rnd.IntN(60), pick(w, "", "\x00", "\xff"))))
	}
	w.append("checkpoint", l, l.Next(items...))
}

func (w *writer) question() {
	l, h := w.log(), w.header()
	h.Status = posthouse.StatusWaiting
	gate := w.b.GateID()
	items := []storetest.Item{l.Checkpoint(h, "asks"), l.GateOf(gate, posthouse.GateInfo{
		Kind: pick(w, "", "", posthouse.GateTimer), ExpiresAt: pick(w, time.Time{}, w.b.Now().Add(time.Hour)),
	})}
	w.append("question", l, l.Next(items...))
	if w.rnd.IntN(2) == 0 && len(l.Info.Waiting) > 0 {
		w.append("audience", l, l.Next(l.Audience(pick(w, l.Info.Waiting...).ID, "ann", pick(w, "bob", "cid"))))
	}
}

func (w *writer) decision() {
	if l := w.log(); len(l.Info.Waiting) > 0 {
		w.append("decision", l, l.Signed([]byte("signature"), l.Decision(pick(w, l.Info.Waiting...).ID)))
	}
}

func (w *writer) claim() {
	l := w.log()
	w.append("claim", l, l.Next(l.Claim("host", l.Info.Lease.Fence+1, w.rnd.IntN(2) == 0)))
}

func (w *writer) release() {
	l := w.log()
	var items []storetest.Item
	if w.rnd.IntN(2) == 0 {
		items = append(items, l.Checkpoint(w.header(), "the end"))
	}
	w.append("release", l, l.Next(append(items, l.Release())...))
}

// indexed draws a checkpoint that was taken, and may be gone.
func (w *writer) indexed() *posthouse.Header {
	if len(w.heads) == 0 {
		return nil
	}
	return pick(w, w.heads...)
}

func (w *writer) replace() {
	if old := w.indexed(); old != nil {
		l, h := w.logs[old.Thread], w.header()
		h.ID, h.Order, h.Revision = old.ID, old.Order, old.Revision+1
		w.append("replace "+string(old.ID)+" by", l, l.Next(l.Checkpoint(h, "replaced")))
	}
}

func (w *writer) drop() {
	if h := w.indexed(); h != nil {
		l := w.log()
		w.append("drop "+string(h.ID)+" by", l, l.Next(l.Removal(h.ID), l.Checkpoint(w.header(), "in its place")))
	}
}

// takeID gives a checkpoint the id of another, which may be gone.
func (w *writer) takeID() {
	if old := w.indexed(); old != nil {
		l, h := w.log(), w.header()
		h.ID, h.Order = old.ID, old.Order
		w.append("take "+string(h.ID)+" by", l, l.Next(l.Checkpoint(h, "x")))
	}
}

// late appends after a position that is old or never was.
func (w *writer) late() {
	l := w.log()
	info := *l.Info
	if info.Tail.Seq += pick(w, ^uint64(0), 0, 1); info.Tail.Seq == l.Info.Tail.Seq {
		info.Tail.Hash[3] ^= 1
	}
	other := w.b.Resume(&info)
	w.append("late", l, other.Next(other.Checkpoint(w.header(), "late")))
}

func (w *writer) again() {
	if len(w.old) > 0 {
		b := pick(w, w.old...)
		w.append("again", w.logs[b.Entry.Thread], b)
	}
}

// bulk appends two or three entries at once; one may not follow.
func (w *writer) bulk() {
	l := w.log()
	at := w.b.Resume(l.Info)
	var bs []*posthouse.Batch
	for range 2 + w.rnd.IntN(2) {
		b := at.Next(at.Checkpoint(w.header(), "one of many"))
		at.Took(b)
		bs = append(bs, b)
	}
	if w.rnd.IntN(4) == 0 {
		bs = slices.Delete(bs, 0, 1)
	}
	got := w.do(fmt.Sprintf("bulk of %d to %s/%d", len(bs), l.Info.Thread, bs[0].Entry.Seq), func(ctx context.Context, s *side) string {
		all, ok := s.store.(posthouse.BulkAppender)
		if !ok {
			return "does not take many"
		}
		return traceError(all.AppendAll(ctx, bs))
	})
	w.took(got, l, bs...)
}

func (w *writer) remove() {
	l := w.log()
	r := posthouse.Removal{Thread: l.Info.Thread}
	seq := 1 + w.rnd.Uint64N(l.Info.Tail.Seq+1)
	switch w.rnd.IntN(4) {
	case 0, 1:
		r.Bodies = []posthouse.BodyRef{{Seq: seq}, {Seq: seq + 1, Record: 1}}
	case 2:
		r.Below = seq
	case 3:
		r.All = true
	}
	w.do(fmt.Sprintf("remove %+v", r), func(ctx context.Context, s *side) string {
		done, err := s.store.Remove(ctx, r)
		if len(r.Bodies) == 0 {
			done.Bodies = 0 // stores may count them by entry
		}
		return fmt.Sprintf("%s %d entries, %d bodies", traceError(err), done.Entries, done.Bodies)
	})
	if r.All {
		delete(w.logs, r.Thread)
		w.heads = slices.DeleteFunc(w.heads, func(h *posthouse.Header) bool { return h.Thread == r.Thread })
		w.old = slices.DeleteFunc(w.old, func(b *posthouse.Batch) bool { return b.Entry.Thread == r.Thread })
	}
}

func (w *writer) slot() {
	key := posthouse.SlotKey{Thread: w.name + "." + pick(w, "a", "a.b"), Step: pick(w, "s", "b.s")}
	if w.rnd.IntN(5) == 0 {
		w.do("list slots of "+key.Thread, func(ctx context.Context, s *side) string { return s.slots(ctx, key.Thread) })
		return
	}
	op := posthouse.SlotOp{
		Verb: pick(w, posthouse.SlotGet, posthouse.SlotPut, posthouse.SlotPut, posthouse.SlotDelete), Value: []byte(pick(w, "", "x", "y")),
		Revision: pick(w, 0, posthouse.AnyRevision), Fence: pick(w, uint64(0), 0, 3, 4),
	}
	current := w.rnd.IntN(2) == 0
	w.do(fmt.Sprintf("slot %q %+v, current: %v", key, op, current), func(ctx context.Context, s *side) string { return s.slot(ctx, key, op, current) })
}

func (w *writer) read() {
	thread := w.name + "." + pick(w, "a", "b", "B", "a.b", "nobody")
	r := posthouse.Range{
		From: w.rnd.Uint64N(5), To: w.rnd.Uint64N(8), Reverse: w.rnd.IntN(2) == 0, Limit: w.rnd.IntN(4), Headers: w.rnd.IntN(3) == 0,
	}
	switch w.rnd.IntN(4) {
	case 0:
		r.Seqs = []uint64{3, 1, 2}
	case 1:
		r = posthouse.Range{Reverse: r.Reverse}
	}
	w.do(fmt.Sprintf("read %s %+v", thread, r), func(ctx context.Context, s *side) string { return traceAll(s.store.Read(ctx, thread, r), traceEntry) })
}

func (w *writer) list() {
	q := posthouse.Query{
		Coordination: pick(w, "", "", "desk"), Agent: pick(w, "", "", "x"), Node: pick(w, "", "", "n1", "n2"), Branch: pick(w, "", "draft"),
		Run: pick(w, "", "", "r"), Graph: pick(w, "", "", "g"), Status: pick(w, "", "", posthouse.StatusDone), Label: pick(w, "", "", "k"),
		Descending: w.rnd.IntN(2) == 0, Limit: w.rnd.IntN(6),
	}
	if w.rnd.IntN(2) == 0 {
		q.Thread, q.Generation = w.name+"."+pick(w, "a", "b"), pick(w, uint32(0), 1, 2)
		q.From, q.To = w.rnd.Uint64N(4), w.rnd.Uint64N(6)
	}
	if h := w.indexed(); h != nil && w.rnd.IntN(3) == 0 && (q.Thread == "" || q.Thread == h.Thread) {
		q.After = h.Cursor()
	}
	w.do(fmt.Sprintf("list %+v", q), func(ctx context.Context, s *side) string { return traceAll(s.store.List(ctx, q), traceHeader) })
}

// threads lists summaries, and the inbox.
func (w *writer) threads() {
	q := pick(w, posthouse.ThreadQuery{}, posthouse.ThreadQuery{Prefix: w.name}, posthouse.ThreadQuery{Waiting: true}, posthouse.ThreadQuery{Runnable: true},
		posthouse.ThreadQuery{Leased: true}, posthouse.ThreadQuery{Released: true}, posthouse.ThreadQuery{Gates: true},
		posthouse.ThreadQuery{Gates: true, People: true}, posthouse.ThreadQuery{Gates: true, People: true, Person: "bob"},
		posthouse.ThreadQuery{Gates: true, GateKind: posthouse.GateTimer}, posthouse.ThreadQuery{DueBefore: 1 << 50})
	q.Limit = w.rnd.IntN(6)
	if q.DueBefore == 0 {
		q.Descending = w.rnd.IntN(2) == 0
		if len(w.ids) > 0 && w.rnd.IntN(3) == 0 {
			q.After = string(pick(w, w.ids...))
			if !q.Gates {
				q.After = w.name + ".a"
			}
		}
	}
	w.do(fmt.Sprintf("threads %+v", q), func(ctx context.Context, s *side) string { return traceAll(s.store.Threads(ctx, q), traceThread) })
}

func (w *writer) find() {
	id := posthouse.ID("nobody")
	if len(w.ids) > 0 {
		id = pick(w, w.ids...)
	}
	w.do("find "+string(id), func(ctx context.Context, s *side) string {
		ref, err := s.store.Find(ctx, id)
		return fmt.Sprint(traceError(err), " ", ref)
	})
}
