package sign_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/sign"
	"github.com/posthouse/posthouse/store/memstore"
)

// A writer appends entries as a broken or hostile Ledger could: sealed and
// chained, but saying anything.
type writer struct {
	t     testing.TB
	store *memstore.Store
	info  *posthouse.ThreadInfo
	at    time.Time
	key   *sign.Key // nil: unsigned
}

func newWriter(t testing.TB) *writer {
	return &writer{t: t, store: memstore.New(), info: &posthouse.ThreadInfo{Thread: "t"}, at: newClock().now}
}

// smallStore holds one short thread, the same in every process.
func smallStore(t testing.TB, key *sign.Key) *memstore.Store {
	t.Helper()
	w := newWriter(t)
	w.key = key
	w.append(recs{claim(1, false), checkpoint("a", "", 0)}, nil, "state")
	w.append(recs{checkpoint("b", "a", 1), gate("g")}, "more", posthouse.Gate{ID: "g", Name: "ok?"})
	w.append(recs{decide("g", 2)}, posthouse.Decision{Gate: "g", Verdict: posthouse.Approve, By: "alice"})
	w.append(recs{claim(1, true)})
	wantClean(t, verify(t, w.store, ringOf(t, key), nil))
	return w.store
}

func (w *writer) append(records []posthouse.Record, bodies ...any) *posthouse.Entry {
	w.t.Helper()
	data := make([][]byte, len(records))
	for i, b := range bodies {
		if b != nil {
			data[i] = must.Get(json.Marshal(b))(w.t)
		}
	}
	e, info := posthouse.Seal(w.info, w.at, records, data)
	if w.key != nil {
		e.Sig = posthouse.JoinSignature(w.key.KeyID(), must.Get(w.key.Sign(posthouse.SignatureMessage(e.Hash)))(w.t))
		again := *w.info
		if err := again.Apply(e); err != nil {
			w.t.Fatal(err)
		}
		info = &again
	}
	b := &posthouse.Batch{After: w.info.Tail, Entry: e, Thread: info}
	for _, r := range records {
		switch {
		case r.Checkpoint != nil:
			b.IDs = append(b.IDs, posthouse.IndexedID{ID: r.Checkpoint.ID, Order: r.Checkpoint.Order, Header: r.Checkpoint, Replace: true})
		case r.Gate != nil:
			b.IDs = append(b.IDs, posthouse.IndexedID{ID: r.Gate.ID, Replace: true})
		case r.Decision != nil:
			b.IDs = append(b.IDs, posthouse.IndexedID{ID: r.Decision.Gate, Replace: true})
		case r.Signal != nil:
			b.IDs = append(b.IDs, posthouse.IndexedID{ID: r.Signal.ID})
		}
	}
	if err := w.store.Append(context.Background(), b); err != nil {
		w.t.Fatal(err)
	}
	w.info = info
	return e
}

func checkpoint(id, parent string, parentSeq uint64) posthouse.Record {
	return posthouse.Record{Kind: posthouse.RecordCheckpoint, Checkpoint: &posthouse.Header{
		ID: posthouse.ID(id), Parent: posthouse.ID(parent), ParentSeq: parentSeq, Branch: posthouse.MainBranch,
		Kind: posthouse.KindSave, Order: posthouse.OrderKey{1},
	}}
}

func gate(id string) posthouse.Record {
	return posthouse.Record{Kind: posthouse.RecordGate, Gate: &posthouse.GateInfo{ID: posthouse.ID(id), Name: "ok?", Branch: posthouse.MainBranch}}
}

func decide(id string, seq uint64) posthouse.Record {
	return posthouse.Record{Kind: posthouse.RecordDecision, Decision: &posthouse.DecideInfo{
		Gate: posthouse.ID(id), GateSeq: seq, Verdict: posthouse.Approve, By: "alice",
	}}
}

func vote(id string, seq, prior uint64) posthouse.Record {
	return posthouse.Record{Kind: posthouse.RecordVote, Vote: &posthouse.VoteInfo{
		Gate: posthouse.ID(id), GateSeq: seq, Prior: prior, Verdict: posthouse.Approve, By: "alice",
	}}
}

func assign(id string, seq, prior uint64) posthouse.Record {
	return posthouse.Record{Kind: posthouse.RecordAssignment, Assignment: &posthouse.AssignInfo{Gate: posthouse.ID(id), GateSeq: seq, Prior: prior, By: "alice"}}
}

func notice(id string, seq, prior uint64) posthouse.Record {
	return posthouse.Record{Kind: posthouse.RecordNotice, Notice: &posthouse.NoticeInfo{Gate: posthouse.ID(id), GateSeq: seq, Prior: prior, Kind: posthouse.NoticeSnooze, By: "alice"}}
}

func claim(fence uint64, unclaim bool) posthouse.Record {
	return posthouse.Record{Kind: posthouse.RecordClaim, Claim: &posthouse.ClaimInfo{Owner: "host", Fence: fence, Unclaim: unclaim}}
}

func removal(count int) posthouse.Record {
	return posthouse.Record{Kind: posthouse.RecordRemoval, Removal: &posthouse.RemovalInfo{Count: count}}
}

func signal(id string, prev uint64) posthouse.Record {
	return posthouse.Record{Kind: posthouse.RecordSignal, Signal: &posthouse.SignalInfo{ID: posthouse.ID(id), Name: "go", Prev: prev}}
}

func take(name string, seq uint64) posthouse.Record {
	return posthouse.Record{Kind: posthouse.RecordTake, Take: &posthouse.TakeInfo{Branch: posthouse.MainBranch, Name: name, Signal: seq}}
}

type recs = []posthouse.Record

// TestRecordsThatContradictEachOther writes logs that are intact and wrong.
func TestRecordsThatContradictEachOther(t *testing.T) {
	removed := func(id string, seq uint64) posthouse.RemovedList {
		return posthouse.RemovedList{Checkpoints: []posthouse.RemovedCheckpoint{{ID: posthouse.ID(id), Seq: seq}}}
	}
	for name, c := range map[string]struct {
		write func(w *writer)
		want  string // part of the message; "": nothing is wrong
		seq   uint64
	}{
		"a plain line": {write: func(w *writer) {
			w.append(recs{claim(1, false), checkpoint("a", "", 0)})
			w.append(recs{checkpoint("b", "a", 1), gate("g")})
			w.append(recs{decide("g", 2)})
			w.append(recs{claim(1, true)})
			w.append(recs{claim(2, false), checkpoint("c", "b", 2)})
		}},
		"a parent that is not there": {func(w *writer) { w.append(recs{checkpoint("a", "", 0)}); w.append(recs{checkpoint("b", "x", 1)}) }, "its parent x", 2},
		"a parent in no checkpoint":  {func(w *writer) { w.append(recs{claim(1, false)}); w.append(recs{checkpoint("b", "x", 1)}) }, "its parent x", 2},
		"not the head": {func(w *writer) {
			w.append(recs{checkpoint("a", "", 0)})
			w.append(recs{checkpoint("b", "a", 1)})
			w.append(recs{checkpoint("c", "a", 1)})
		}, "does not continue branch main", 3},
		"an id twice":              {func(w *writer) { w.append(recs{checkpoint("a", "", 0)}); w.append(recs{checkpoint("a", "a", 1)}) }, "already entry 1", 2},
		"a revision of nothing":    {func(w *writer) { r := checkpoint("a", "", 0); r.Checkpoint.Revision = 1; w.append(recs{r}) }, "revision 1", 1},
		"a fence again":            {func(w *writer) { w.append(recs{claim(3, false)}); w.append(recs{claim(3, false)}) }, "does not grow", 2},
		"a fence that shrinks":     {func(w *writer) { w.append(recs{claim(3, false)}); w.append(recs{claim(2, false)}) }, "does not grow", 2},
		"an unclaim of another":    {func(w *writer) { w.append(recs{claim(3, false)}); w.append(recs{claim(2, true)}) }, "gives back fence 2", 2},
		"a decision about nothing": {func(w *writer) { w.append(recs{checkpoint("a", "", 0)}); w.append(recs{decide("g", 1)}) }, "not in entry 1", 2},
		"a decision elsewhere":     {func(w *writer) { w.append(recs{checkpoint("a", "", 0), gate("g")}); w.append(recs{decide("g", 2)}) }, "not in entry 2", 2},
		"two decisions": {func(w *writer) {
			w.append(recs{checkpoint("a", "", 0), gate("g")})
			w.append(recs{decide("g", 1)})
			w.append(recs{decide("g", 1)})
		}, "decided before, at entry 2", 3},
		"a gate twice": {func(w *writer) {
			w.append(recs{checkpoint("a", "", 0), gate("g")})
			w.append(recs{checkpoint("b", "a", 1), gate("g")})
		}, "opened before", 2},
		"another verdict in the body": {func(w *writer) {
			w.append(recs{checkpoint("a", "", 0), gate("g")})
			w.append(recs{decide("g", 1)}, posthouse.Decision{Gate: "g", Verdict: posthouse.Reject, By: "alice"})
		}, "something else than its header", 2},
		"another question in the body": {func(w *writer) {
			w.append(recs{checkpoint("a", "", 0), gate("g")}, nil, posthouse.Gate{ID: "h", Name: "ok?"})
		}, "another question", 1},
		"a decision on something else": {func(w *writer) {
			w.append(recs{checkpoint("a", "", 0), gate("g")})
			w.append(recs{decide("g", 1)}, posthouse.Decision{Gate: "g", Verdict: posthouse.Approve, By: "alice", Shown: posthouse.Hash{9}})
		}, "on something else", 2},
		"votes and an assignment": {write: func(w *writer) {
			w.append(recs{checkpoint("a", "", 0), gate("g")})
			w.append(recs{vote("g", 1, 0)})
			w.append(recs{assign("g", 1, 2)})
			w.append(recs{assign("g", 1, 3), vote("g", 1, 3), decide("g", 1)}, nil, nil, posthouse.Decision{Gate: "g", Verdict: posthouse.Approve, By: "alice", Trail: 4})
		}},
		"signals and takes": {write: func(w *writer) {
			w.append(recs{signal("a", 0)})
			w.append(recs{signal("b", 1)})
			w.append(recs{take("go", 1)})
			w.append(recs{signal("c", 2), take("go", 4)})
		}},
		"a signal passed over":   {func(w *writer) { w.append(recs{signal("a", 0)}); w.append(recs{signal("b", 0)}) }, "the newest is that of entry 1", 2},
		"a take of nothing":      {func(w *writer) { w.append(recs{signal("a", 0)}); w.append(recs{take("go", 2)}) }, "does not hold it", 2},
		"a take of another name": {func(w *writer) { w.append(recs{signal("a", 0)}); w.append(recs{take("stop", 1)}) }, "does not hold it", 2},
		"a vote on nothing":      {func(w *writer) { w.append(recs{checkpoint("a", "", 0)}); w.append(recs{vote("g", 1, 0)}) }, "not in entry 1", 2},
		"a vote passed over": {func(w *writer) {
			w.append(recs{checkpoint("a", "", 0), gate("g")})
			w.append(recs{vote("g", 1, 0)})
			w.append(recs{vote("g", 1, 0)})
		}, "follows entry 0, and the newest", 3},
		"a notice passed over": {func(w *writer) {
			w.append(recs{checkpoint("a", "", 0), gate("g")})
			w.append(recs{notice("g", 1, 0)})
			w.append(recs{vote("g", 1, 0)})
		}, "follows entry 0, and the newest", 3},
		"another notice in the body": {func(w *writer) {
			w.append(recs{checkpoint("a", "", 0), gate("g")})
			w.append(recs{notice("g", 1, 0)}, posthouse.Notice{Gate: "g", Kind: posthouse.NoticeSnooze, By: "bob"})
		}, "something else than its header", 2},
		"a notice that comes late": {func(w *writer) {
			w.append(recs{checkpoint("a", "", 0), gate("g")})
			w.append(recs{decide("g", 1)})
			w.append(recs{notice("g", 1, 0)})
		}, "after the gate was decided", 3},
		"a vote that comes late": {func(w *writer) {
			w.append(recs{checkpoint("a", "", 0), gate("g")})
			w.append(recs{decide("g", 1)})
			w.append(recs{vote("g", 1, 0)})
		}, "after the gate was decided", 3},
		"a decision that passes over a vote": {func(w *writer) {
			w.append(recs{checkpoint("a", "", 0), gate("g")})
			w.append(recs{vote("g", 1, 0)})
			w.append(recs{decide("g", 1)}, posthouse.Decision{Gate: "g", Verdict: posthouse.Approve, By: "alice"})
		}, "follows votes up to entry 0", 3},
		"another vote in the body": {func(w *writer) {
			w.append(recs{checkpoint("a", "", 0), gate("g")})
			w.append(recs{vote("g", 1, 0)}, posthouse.Decision{Gate: "g", Verdict: posthouse.Approve, By: "bob"})
		}, "something else than its header", 2},
		"another assignment in the body": {func(w *writer) {
			w.append(recs{checkpoint("a", "", 0), gate("g")})
			w.append(recs{assign("g", 1, 0)}, posthouse.Assignment{Gate: "g", By: "bob", To: []string{"carol"}})
		}, "something else than its header", 2},
		"a removal of nothing": {func(w *writer) { w.append(recs{checkpoint("a", "", 0)}); w.append(recs{removal(1)}, removed("b", 1)) }, "not in entry 1", 2},
		"a removal miscounted": {func(w *writer) { w.append(recs{checkpoint("a", "", 0)}); w.append(recs{removal(2)}, removed("a", 1)) }, "lists 1", 2},
		"a removal of garbage": {func(w *writer) { w.append(recs{checkpoint("a", "", 0)}); w.append(recs{removal(1)}, "garbage") }, "does not decode", 2},
		"a child of what was removed": {func(w *writer) {
			w.append(recs{checkpoint("a", "", 0)})
			w.append(recs{checkpoint("b", "a", 1)})
			r := removal(1)
			r.Removal.Heads = []posthouse.BranchHead{{Branch: posthouse.MainBranch, Head: "a", Seq: 1}}
			w.append(recs{r}, removed("b", 2))
			c := checkpoint("c", "b", 2)
			c.Checkpoint.Branch = "other"
			w.append(recs{c})
		}, "removed or replaced before", 4},
		"a decision after the gate was removed": {func(w *writer) {
			w.append(recs{checkpoint("a", "", 0)})
			w.append(recs{checkpoint("b", "a", 1), gate("g")})
			r := removal(1)
			r.Removal.Gates = []posthouse.ID{"g"}
			r.Removal.Heads = []posthouse.BranchHead{{Branch: posthouse.MainBranch, Head: "a", Seq: 1}}
			w.append(recs{r}, removed("b", 2))
			w.append(recs{decide("g", 2)})
		}, "not in entry 2", 4},
	} {
		t.Run(name, func(t *testing.T) { wantRecordFault(t, c.write, c.seq, c.want) })
	}
}

// wantRecordFault checks a thread that write makes. It expects a fault at entry
// seq with a message that contains want, or no fault if want is empty.
func wantRecordFault(t *testing.T, write func(*writer), seq uint64, want string) {
	t.Helper()
	w := newWriter(t)
	write(w)
	r := verify(t, w.store, nil, nil)
	if want == "" {
		wantClean(t, r)
		return
	}
	if !slices.ContainsFunc(r.Faults, func(f sign.Fault) bool {
		return f.Kind == sign.FaultRecord && f.Seq == seq && strings.Contains(f.Message, want)
	}) {
		t.Errorf("no fault at entry %d that says %q: %v", seq, want, r.Faults)
	}
}
