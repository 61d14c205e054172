package sign_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/sign"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/transfer"
)

// A clock ticks by half a second at each reading, so that some entries are
// signed for their time and some are not.
type clock struct{ now time.Time }

func newClock() *clock { return &clock{time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.now = c.now.Add(500 * time.Millisecond)
	return c.now
}

func openLedger(t testing.TB, store posthouse.Store, signer posthouse.Signer, now func() time.Time) *ledger.Ledger {
	t.Helper()
	return must.Get(ledger.Open(store, &ledger.Options{Signer: signer, Now: now, Owner: "host-1"}))(t)
}

// A fill is what fillStore made.
type fill struct {
	store  posthouse.Store
	ledger *ledger.Ledger
	clock  *clock
	head   posthouse.ID // of thread order-1
}

// fillStore makes a small store that holds every kind of record: a run with
// steps, a chat that grows by splices and references, a gate that was decided
// and one that is open, a fork, a replaced and a deleted checkpoint, a deleted
// thread.
func fillStore(t testing.TB, signer posthouse.Signer) *fill {
	t.Helper()
	return fillInto(t, memstore.New(), signer)
}

func fillInto(t testing.TB, store posthouse.Store, signer posthouse.Signer) *fill {
	t.Helper()
	ctx := t.Context()
	f := &fill{store: store, clock: newClock()}
	l := openLedger(t, f.store, signer, f.clock.Now)
	f.ledger = l

	// A run with two steps, a question, its answer and an end.
	claim := must.Get(l.Claim(ctx, "order-1", "run-1"))(t)
	part := func(name, data string) posthouse.Part { return posthouse.Part{Name: name, Data: []byte(data)} }
	commit := func(d *ledger.Draft) *posthouse.Committed {
		t.Helper()
		return must.Get(l.Commit(ctx, d))(t)
	}
	commit(&ledger.Draft{Thread: "order-1", Claim: claim, Checkpoint: &posthouse.Change{
		Kind: posthouse.KindInput, Status: posthouse.StatusRunning, Graph: "refund", Next: []string{"analyze"},
		Labels: map[string]string{"customer": "c-7", "tier": "gold"},
		Parts:  []posthouse.Part{part("Request", `"please refund order 1"`), part("Messages", `[]`)},
	}})
	reply := `{"role":"assistant","text":"` + strings.Repeat("refundable ", 12) + `"}`
	commit(&ledger.Draft{Thread: "order-1", Claim: claim, Steps: []posthouse.Step{
		{Task: "1/analyze", Name: "llm", Effect: posthouse.EffectExternal, Value: posthouse.Value{Codec: "json", Data: []byte(reply)}},
	}})
	commit(&ledger.Draft{Thread: "order-1", Claim: claim, Checkpoint: &posthouse.Change{
		Kind: posthouse.KindNode, Status: posthouse.StatusRunning, Node: "analyze", Next: []string{"approve"},
		Parts: []posthouse.Part{{Name: "Messages", Splice: true, Prefix: 1, Suffix: 1, Data: []byte(reply)}},
	}})
	waiting := commit(&ledger.Draft{Thread: "order-1", Claim: claim,
		Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, Next: []string{"approve"}},
		Gates:      []posthouse.Gate{{Name: "refund", Task: "2/approve", Text: "Refund?", Payload: json.RawMessage(`{"amount":12}`)}},
	})
	must.Get(l.Decide(ctx, waiting.Gates[0].ID, posthouse.Decision{Verdict: posthouse.Approve, By: "alice", Shown: waiting.Hash}))(t)
	done := commit(&ledger.Draft{Thread: "order-1", Claim: claim, Checkpoint: &posthouse.Change{
		Kind: posthouse.KindNode, Status: posthouse.StatusDone, Node: "approve",
		Parts: []posthouse.Part{part("Approved", "true"), {Name: "Request", Drop: true}}, Metadata: map[string]string{"by": "alice"},
	}})
	if err := claim.Release(ctx); err != nil {
		t.Fatal(err)
	}
	f.head = done.Checkpoint.ID

	// A fork of the waiting checkpoint: its question is open again.
	must.Get(l.Fork(ctx, waiting.Checkpoint.ID, &ledger.ForkOptions{By: "bob"}))(t)

	// A thread by hand: a foreign id, a replaced checkpoint, a deleted one.
	save := func(c *posthouse.Checkpoint, o *ledger.SaveOptions) *posthouse.Checkpoint {
		t.Helper()
		return must.Get(l.Save(ctx, c, o))(t)
	}
	state := func(s string) posthouse.State { return must.Get(posthouse.Opaque(posthouse.Raw, s))(t) }
	root := posthouse.Root("hand", state("one"))
	root.ID = "my.own-id"
	stored := save(root, nil)
	stored.State = state("one, corrected")
	stored = save(stored, &ledger.SaveOptions{Replace: true})
	second := save(stored.Derive(state("two")), nil)
	third := save(second.Derive(state("three")), nil)
	must.Get(retain.Delete(ctx, l, third.ID, &retain.DeleteOptions{By: "alice", Reason: "by mistake"}))(t)
	save(second.Derive(state("three again")), nil)

	// A deleted thread, and one that started over under its name.
	save(posthouse.Root("gone", state("secret")), nil)
	must.Get(retain.DeleteThread(ctx, l, "gone", nil))(t)
	save(posthouse.Root("again", state("secret")), nil)
	must.Get(retain.DeleteThread(ctx, l, "again", nil))(t)
	save(posthouse.Root("again", state("fresh")), nil)

	// A thread of four versions, the second of them dropped.
	for i := range 4 {
		c := save(posthouse.Root("versions", state(fmt.Sprint(i))), nil)
		save(c.Derive(state(fmt.Sprint(i, " end"))), nil)
		if i < 3 {
			must.Get(l.Release(ctx, "versions", &ledger.ReleaseOptions{Tags: []string{"stable"}}))(t)
		}
	}
	must.Get(transfer.CopyThread(ctx, l, "order-1", "order-2", nil))(t)
	must.Get(retain.DropRelease(ctx, l, "versions", "2", &retain.DeleteOptions{By: "alice"}))(t)
	return f
}

// verify runs sign.Verify and fails on errors about the verification itself.
func verify(t testing.TB, store posthouse.Store, ring *sign.Ring, o *sign.VerifyOptions) *sign.Report {
	t.Helper()
	return must.Get(sign.Verify(context.Background(), store, ring, o))(t)
}

func wantClean(t testing.TB, r *sign.Report) {
	t.Helper()
	for _, f := range r.Faults {
		t.Errorf("unexpected fault: %v", f)
	}
}

// wantFault wants a fault of the kind, "" meaning any, at the place, 0 meaning
// anywhere in the thread.
func wantFault(t testing.TB, r *sign.Report, kind sign.FaultKind, thread string, seq uint64) {
	t.Helper()
	for _, f := range r.Faults {
		if (f.Kind == kind || kind == "") && f.Thread == thread && (seq == 0 || f.Seq <= seq && seq <= max(f.Seq, f.Through)) {
			return
		}
	}
	t.Errorf("no fault of kind %s in thread %q entry %d; there are %d: %v", kind, thread, seq, len(r.Faults), r.Faults)
}

// A tampered store shows the log, summaries and index of another one as an
// attacker who can write to the database would leave them.
type tampered struct {
	posthouse.Store
	log     func(thread string, entries []*posthouse.Entry) []*posthouse.Entry
	summary func(*posthouse.ThreadInfo) *posthouse.ThreadInfo // nil: the thread is gone
	find    func(posthouse.ID, posthouse.Ref) (posthouse.Ref, error)
	list    func(*posthouse.Header) *posthouse.Header
	fail    func(thread string, seq uint64) error
}

func (s *tampered) Read(ctx context.Context, thread string, r posthouse.Range) iter.Seq2[*posthouse.Entry, error] {
	return func(yield func(*posthouse.Entry, error) bool) {
		entries := readAll(s.Store, thread)
		if s.log != nil {
			entries = s.log(thread, entries)
		}
		n := 0
		for _, e := range entries {
			if r.Seqs != nil && !slices.Contains(r.Seqs, e.Seq) || e.Seq < r.From || r.To != 0 && e.Seq > r.To {
				continue
			}
			if s.fail != nil {
				if err := s.fail(thread, e.Seq); err != nil {
					yield(nil, err)
					return
				}
			}
			if !yield(e, nil) {
				return
			}
			if n++; n == r.Limit {
				return
			}
		}
	}
}

func readAll(s posthouse.Store, thread string) (entries []*posthouse.Entry) {
	for e, err := range s.Read(context.Background(), thread, posthouse.Range{}) {
		if err != nil {
			panic(err)
		}
		entries = append(entries, e)
	}
	return entries
}

func (s *tampered) Threads(ctx context.Context, q posthouse.ThreadQuery) iter.Seq2[*posthouse.ThreadInfo, error] {
	return func(yield func(*posthouse.ThreadInfo, error) bool) {
		for info, err := range s.Store.Threads(ctx, q) {
			if err == nil && s.summary != nil {
				info = s.summary(info)
				if info == nil {
					continue
				}
			}
			if !yield(info, err) {
				return
			}
		}
	}
}

func (s *tampered) Find(ctx context.Context, id posthouse.ID) (posthouse.Ref, error) {
	ref, err := s.Store.Find(ctx, id)
	if s.find != nil && err == nil {
		return s.find(id, ref)
	}
	return ref, err
}

func (s *tampered) List(ctx context.Context, q posthouse.Query) iter.Seq2[*posthouse.Header, error] {
	return func(yield func(*posthouse.Header, error) bool) {
		for h, err := range s.Store.List(ctx, q) {
			if err == nil && s.list != nil {
				h = s.list(h)
				if h == nil {
					continue
				}
			}
			if !yield(h, err) {
				return
			}
		}
	}
}

// cloneEntries copies entries, so that a tamperer changes nothing else.
func cloneEntries(in []*posthouse.Entry) []*posthouse.Entry {
	out := make([]*posthouse.Entry, len(in))
	for i, e := range in {
		c := *e
		c.Header, c.Sig = bytes.Clone(e.Header), bytes.Clone(e.Sig)
		c.Bodies = make([][]byte, len(e.Bodies))
		for j, b := range e.Bodies {
			c.Bodies[j] = bytes.Clone(b)
		}
		out[i] = &c
	}
	return out
}

// threadsOf lists the threads of a store.
func threadsOf(t testing.TB, s posthouse.Store) (names []string) {
	t.Helper()
	for info, err := range s.Threads(t.Context(), posthouse.ThreadQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, info.Thread)
	}
	return names
}

func countEntries(t testing.TB, s posthouse.Store) (n int) {
	for _, name := range threadsOf(t, s) {
		n += len(readAll(s, name))
	}
	return n
}

func label(parts ...any) string { return strings.TrimSuffix(fmt.Sprintln(parts...), "\n") }
