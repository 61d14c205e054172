package storetest

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/posthouse/posthouse"
)

// A Builder makes well-formed batches as a Ledger does, with times and ids that are
// the same in each run. It is safe for concurrent use; its [Log]s are not.
type Builder struct {
	clock Clock
	n     atomic.Uint64
}

// NewBuilder returns a Builder with a fixed time.
func NewBuilder() *Builder {
	return &Builder{clock: Clock{now: time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC)}}
}

// Now returns the Builder's time.
func (b *Builder) Now() time.Time { return b.clock.Now() }

// Advance moves the clock by d, which may be negative.
func (b *Builder) Advance(d time.Duration) { b.clock.Advance(d) }

// Key returns an order key that sorts after all earlier ones, even within a
// millisecond.
func (b *Builder) Key() (k posthouse.OrderKey) {
	n := b.n.Add(1)
	binary.BigEndian.PutUint64(k[:], uint64(b.Now().UnixMilli())<<16|7<<12|n>>46)
	binary.BigEndian.PutUint64(k[8:], 1<<63|n<<16>>2|0x1234)
	return k
}

// ID returns a new id in Posthouse's form and its order key.
func (b *Builder) ID() (posthouse.ID, posthouse.OrderKey) {
	k := b.Key()
	return posthouse.ID(fmt.Sprintf("%x-%x-%x-%x-%x", k[0:4], k[4:6], k[6:8], k[8:10], k[10:16])), k
}

// GateID returns a new id for a gate.
func (b *Builder) GateID() posthouse.ID {
	id, _ := b.ID()
	return "gate-" + id
}

// Log returns a new, empty thread.
func (b *Builder) Log(thread string) *Log {
	return &Log{Info: &posthouse.ThreadInfo{Thread: thread}, b: b}
}

// Resume returns a thread that goes on from a summary.
func (b *Builder) Resume(info *posthouse.ThreadInfo) *Log {
	return &Log{Info: info, b: b}
}

// A Log builds the batches of one thread.
type Log struct {
	Info *posthouse.ThreadInfo // as of the last batch taken
	base posthouse.Hash        // what the generation's first entry follows
	b    *Builder
}

// An Item is one record of a future entry.
type Item struct {
	Record posthouse.Record
	Body   []byte
	Index  []posthouse.IndexedID // a checkpoint's Header is filled in
	Drop   []posthouse.ID
}

// Next returns the batch that follows the log's end. The log does not change
// until [Log.Took].
func (l *Log) Next(items ...Item) *posthouse.Batch { return l.Signed(nil, items...) }

// Signed is Next with a signature, which a store does not check.
func (l *Log) Signed(sig []byte, items ...Item) *posthouse.Batch {
	records, bodies := make([]posthouse.Record, len(items)), make([][]byte, len(items))
	b := &posthouse.Batch{After: l.Info.Tail}
	for i, it := range items {
		records[i], bodies[i] = it.Record, it.Body
		b.IDs, b.Drop = append(b.IDs, it.Index...), append(b.Drop, it.Drop...)
	}
	b.Entry, b.Thread = posthouse.Seal(l.Info, l.b.Now(), records, bodies)
	if len(sig) > 0 {
		b.Entry.Sig = sig
		info := *l.Info
		must(info.Apply(b.Entry))
		b.Thread = &info
	}
	for _, h := range headers(b.Entry) {
		for i := range b.IDs {
			if b.IDs[i].ID == h.ID {
				b.IDs[i].Header = &h
			}
		}
	}
	return b
}

// Took moves the log past a batch that a store has taken.
func (l *Log) Took(b *posthouse.Batch) {
	info := *b.Thread
	if info.Generation != l.Info.Generation && info.First > 1 {
		l.base = info.Link
	}
	l.Info = &info
}

// headers decodes the headers of an entry's checkpoints.
func headers(e *posthouse.Entry) []posthouse.Header {
	hs, err := e.Checkpoints()
	must(err)
	return hs
}

// must panics at an error in what the suite itself has made.
func must(err error) {
	if err != nil {
		panic("storetest made an entry that is not well-formed: " + err.Error())
	}
}

// Checkpoint returns an item with a checkpoint. It sets an empty ID, and an order
// key for an id that is not Posthouse's unless h has one.
func (l *Log) Checkpoint(h posthouse.Header, body string) Item {
	if h.ID == "" {
		h.ID, h.Order = l.b.ID()
	}
	if h.Order == (posthouse.OrderKey{}) {
		h.Order = l.b.Key()
	}
	if h.Kind == "" {
		h.Kind = posthouse.KindNode
	}
	if h.Branch == "" {
		h.Branch = posthouse.MainBranch
	}
	h.Thread = l.Info.Thread
	if head, ok := l.Info.Branch(h.Branch); ok && h.Parent == "" && head.Seq <= l.Info.Tail.Seq {
		h.Parent, h.ParentSeq = head.Head, head.Seq
	}
	return Item{
		Record: posthouse.Record{Kind: posthouse.RecordCheckpoint, Checkpoint: &h}, Body: []byte(body),
		Index: []posthouse.IndexedID{{ID: h.ID, Order: h.Order, Replace: h.Revision > 0}},
	}
}

// Step returns an item with a step's result.
func (l *Log) Step(name string, body []byte) Item {
	return Item{
		Record: posthouse.Record{Kind: posthouse.RecordStep, Step: &posthouse.StepInfo{
			Task: "1/node", Name: name, Branch: posthouse.MainBranch, Codec: "json",
		}},
		Body: body,
	}
}

// Gate returns an item that opens a gate, which never expires if the time is zero.
func (l *Log) Gate(id posthouse.ID, expires time.Time) Item {
	return l.GateOf(id, posthouse.GateInfo{ExpiresAt: expires})
}

// GateOf is Gate with all fields of the header.
func (l *Log) GateOf(id posthouse.ID, g posthouse.GateInfo) Item {
	g.ID, g.Name, g.Branch = id, "approve", posthouse.MainBranch
	return Item{
		Record: posthouse.Record{Kind: posthouse.RecordGate, Gate: &g},
		Body:   []byte(`{"name":"approve"}`),
		Index:  []posthouse.IndexedID{{ID: id}},
	}
}

// Audience returns an item that says who may decide an open gate.
func (l *Log) Audience(gate posthouse.ID, people ...string) Item {
	m := &posthouse.AudienceInfo{Gate: gate}
	for _, name := range people {
		m.Marks = append(m.Marks, posthouse.PersonMark(name))
	}
	slices.Sort(m.Marks)
	return Item{Record: posthouse.Record{Kind: posthouse.RecordAudience, Audience: m}}
}

// Reminder returns an item that records a reminder of an open gate, and when the next is due.
func (l *Log) Reminder(gate posthouse.ID, next time.Time) Item {
	n := &posthouse.NoticeInfo{Gate: gate, Kind: posthouse.NoticeReminder, By: posthouse.RuntimeActor, Until: next}
	if w := l.Info.WaitingFor(gate); w != nil {
		n.GateSeq, n.Prior = w.Seq, w.Trail
	}
	return Item{Record: posthouse.Record{Kind: posthouse.RecordNotice, Notice: n}, Body: []byte(`{"kind":"reminder"}`)}
}

// Decision returns an item that answers a gate. From then on the gate's id leads to
// the decision, as in the Ledger.
func (l *Log) Decision(gate posthouse.ID) Item {
	d := &posthouse.DecideInfo{Gate: gate, Verdict: posthouse.Approve, By: "alice"}
	for _, w := range l.Info.Waiting {
		if w.ID == gate {
			d.GateSeq = w.Seq
		}
	}
	return Item{
		Record: posthouse.Record{Kind: posthouse.RecordDecision, Decision: d}, Body: []byte(`{"verdict":"approve"}`),
		Index: []posthouse.IndexedID{{ID: gate, Replace: true}},
	}
}

// Claim returns an item that takes or releases the lease.
func (l *Log) Claim(owner string, fence uint64, unclaim bool) Item {
	return Item{Record: posthouse.Record{Kind: posthouse.RecordClaim, Claim: &posthouse.ClaimInfo{
		Owner: owner, Fence: fence, Run: "run-1", Unclaim: unclaim,
	}}}
}

// Removal returns an item that attests the removal of checkpoints or gates.
func (l *Log) Removal(gone ...posthouse.ID) Item {
	return Item{
		Record: posthouse.Record{Kind: posthouse.RecordRemoval, Removal: &posthouse.RemovalInfo{
			Reason: "test", By: "alice", Count: len(gone),
		}},
		Body: []byte(fmt.Sprint(gone)),
		Drop: gone,
	}
}

// Release returns an item that closes the generation. It must be an entry's last.
func (l *Log) Release() Item {
	m := &posthouse.ReleaseInfo{
		First: max(l.Info.First, 1), Base: l.base, Fence: l.Info.Lease.Fence, Checkpoints: l.Info.Checkpoints, Heads: l.Info.Branches,
	}
	return Item{Record: posthouse.Record{Kind: posthouse.RecordRelease, Release: m}}
}

// Filler returns n bytes with a long period.
func Filler(n int, seed string) []byte {
	b := make([]byte, 0, n+len(seed)+24)
	for i := int64(0); len(b) < n; i++ {
		b = append(strconv.AppendInt(append(append(b, seed...), ' '), i, 10), "; "...)
	}
	return b[:n:n]
}
