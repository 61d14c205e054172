package sign_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/sign"
	"github.com/posthouse/posthouse/sign/statement"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

func TestVerifyCleanStore(t *testing.T) {
	key := newKey(t)
	f := fillStore(t, key)
	var seen []sign.ThreadReport
	r := verify(t, f.store, ringOf(t, key), &sign.VerifyOptions{
		RequireSigned: true, Progress: func(tr *sign.ThreadReport) { seen = append(seen, *tr) },
	})
	wantClean(t, r)
	if n := countEntries(t, f.store); r.Entries != n || r.Covered+r.Uncovered != n {
		t.Errorf("entries %d, covered %d, uncovered %d; the store has %d", r.Entries, r.Covered, r.Uncovered, n)
	}
	if r.Threads != 6 || len(seen) != 6 || r.Removed != 1 || r.Bytes == 0 || r.Records == 0 || r.Checkpoints == 0 {
		t.Errorf("report %+v, %d threads reported", r, len(seen))
	}
	if len(r.Keys) != 1 || r.Keys[0].ID != key.KeyID() || r.Keys[0].Valid != r.Keys[0].Signatures || r.Keys[0].Valid == 0 {
		t.Errorf("keys %+v", r.Keys)
	}
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var back sign.Report
	if err := json.Unmarshal(data, &back); err != nil || back.Entries != r.Entries {
		t.Errorf("the report does not survive JSON: %v", err)
	}

	one := verify(t, f.store, ringOf(t, key), &sign.VerifyOptions{Thread: "order-1"})
	wantClean(t, one)
	if one.Threads != 1 || one.Entries != len(readAll(f.store, "order-1")) {
		t.Errorf("one thread: %+v", one)
	}
	if _, err := sign.Verify(t.Context(), f.store, nil, &sign.VerifyOptions{Thread: "nobody"}); !errors.Is(err, posthouse.ErrNotFound) {
		t.Errorf("unknown thread: %v", err)
	}
}

// TestVerifyUnsignedTail checks that what follows the last signature is counted
// and is no fault.
func TestVerifyUnsignedTail(t *testing.T) {
	key, f := newKey(t), (*fill)(nil)
	f = fillStore(t, key)
	tail := openLedger(t, f.store, nil, f.clock.Now) // a process without the key
	for range 3 {
		c := must.Get(tail.Latest(t.Context(), ledger.LatestQuery{Thread: "hand"}))(t)
		must.Get(tail.Save(t.Context(), c.Derive(posthouse.State{}), nil))(t)
	}
	r := verify(t, f.store, ringOf(t, key), &sign.VerifyOptions{Thread: "hand"})
	wantClean(t, r)
	if n := len(readAll(f.store, "hand")); r.Uncovered < 3 || r.Covered+r.Uncovered != n {
		t.Errorf("covered %d, uncovered %d of %d; the last 3 are unsigned", r.Covered, r.Uncovered, n)
	}
}

// The twins of the origin's tests for signed commitment records follow.

func TestSignedEntryRoundTrip(t *testing.T) {
	key := newKey(t)
	f := fillStore(t, key)
	r := verify(t, f.store, ringOf(t, key), nil)
	wantClean(t, r)
	signed := 0
	for _, name := range threadsOf(t, f.store) {
		for _, e := range readAll(f.store, name) {
			if len(e.Sig) == 0 {
				continue
			}
			signed++
			id, sig, err := posthouse.SplitSignature(e.Sig)
			if err != nil || id != key.KeyID() || len(sig) != 64 {
				t.Errorf("entry %d of %s: key %q, %d bytes, %v", e.Seq, name, id, len(sig), err)
			}
		}
	}
	if signed == 0 || r.Keys[0].Valid != signed {
		t.Errorf("%d signed entries, %d reported valid", signed, r.Keys[0].Valid)
	}
}

func TestTamperedEntryFails(t *testing.T) {
	key := newKey(t)
	f := fillStore(t, key)
	s := &tampered{Store: f.store, log: func(thread string, es []*posthouse.Entry) []*posthouse.Entry {
		es = cloneEntries(es)
		if thread == "order-1" {
			es[2].Header[5] ^= 1
			es[2].Hash = es[2].Sum() // the attacker computes the hash again
		}
		return es
	}}
	r := verify(t, s, ringOf(t, key), nil)
	if r.OK() {
		t.Fatal("nothing found")
	}
}

// TestRewrittenChainFailsItsSignatures has an attacker without the key compute
// every hash again, so that the chain is consistent.
func TestRewrittenChainFailsItsSignatures(t *testing.T) {
	key := newKey(t)
	f := fillStore(t, key)
	s := rewrite(f.store, "order-1", func(es []*posthouse.Entry) {
		es[0].Header[len(es[0].Header)-1] ^= 0 // nothing but the time changes
		es[0].Header[1] ^= 1
	})
	r := verify(t, s, ringOf(t, key), nil)
	wantFault(t, r, sign.FaultSignature, "order-1", 0)

	// Without the signatures it is consistent, and nothing covers it: asking for
	// signatures, or a witness, finds it.
	head := must.Get(statement.Witness(t.Context(), f.store, key, nil))(t)
	bare := rewrite(f.store, "order-1", func(es []*posthouse.Entry) {
		es[0].Header[1] ^= 1
		for _, e := range es {
			e.Sig = nil
		}
	})
	r = verify(t, bare, ringOf(t, key), &sign.VerifyOptions{Thread: "order-1", RequireSigned: true})
	wantFault(t, r, sign.FaultUnsigned, "order-1", 0)
	r = verify(t, bare, ringOf(t, key), &sign.VerifyOptions{Thread: "order-1", Witness: head})
	wantFault(t, r, sign.FaultForked, "order-1", 0)
}

// rewrite changes a thread's entries and chains them again.
func rewrite(store posthouse.Store, thread string, change func([]*posthouse.Entry)) *tampered {
	return &tampered{Store: store, log: func(name string, es []*posthouse.Entry) []*posthouse.Entry {
		if name != thread {
			return es
		}
		es = cloneEntries(es)
		change(es)
		var prev posthouse.Hash
		for _, e := range es {
			e.Prev = prev
			e.Hash = e.Sum()
			prev = e.Link()
		}
		return es
	}}
}

func TestWrongKeyFails(t *testing.T) {
	key, other := newKey(t), newKey(t)
	f := fillStore(t, key)
	// The ring has another key: the signatures are unverifiable, not valid.
	r := verify(t, f.store, ringOf(t, other), nil)
	wantFault(t, r, sign.FaultUnknownKey, "order-1", 0)
	if r.Covered != 0 || len(r.Keys) != 1 || r.Keys[0].Known || r.Keys[0].Valid != 0 {
		t.Errorf("report %+v", r)
	}
	// Somebody signs with another key under the id of ours.
	impostor := impostor{other, key.KeyID()}
	f = fillStore(t, impostor)
	r = verify(t, f.store, ringOf(t, key), nil)
	wantFault(t, r, sign.FaultSignature, "order-1", 0)
	if r.Covered != 0 {
		t.Errorf("%d entries are called covered", r.Covered)
	}
}

type impostor struct {
	*sign.Key
	id string
}

func (i impostor) KeyID() string { return i.id }

func TestUnsignedStore(t *testing.T) {
	f := fillStore(t, nil)
	r := verify(t, f.store, ringOf(t, newKey(t)), nil)
	wantClean(t, r)
	if r.Covered != 0 || r.Unsigned != r.Threads || len(r.Keys) != 0 {
		t.Errorf("report %+v", r)
	}
	r = verify(t, f.store, nil, &sign.VerifyOptions{RequireSigned: true})
	wantFault(t, r, sign.FaultUnsigned, "order-1", 0)
}

// TestUnsignedProgress rewrites a thread that neither asks nor ends without its
// signatures: a writer with a key signs at least once a second.
func TestUnsignedProgress(t *testing.T) {
	key, now := newKey(t), newClock().now
	store := memstore.New()
	run := func(thread string, signer posthouse.Signer, pauses ...time.Duration) *sign.Report {
		at := now
		l := openLedger(t, store, signer, func() time.Time { return at })
		c := must.Get(l.Save(t.Context(), posthouse.Root(thread, posthouse.State{}), nil))(t)
		for _, p := range pauses {
			at = at.Add(p)
			c = must.Get(l.Save(t.Context(), c.Derive(posthouse.State{}), nil))(t)
		}
		return verify(t, store, ringOf(t, key), &sign.VerifyOptions{Thread: thread, RequireSigned: true})
	}
	const most = time.Second - time.Nanosecond // that a writer with a key leaves unsigned
	wantClean(t, run("signed", key, most, 1, most, most, time.Hour, -time.Hour, most))
	wantClean(t, run("just-begun", nil, most))
	r := run("unsigned", nil, most, time.Second, time.Second, time.Second)
	wantFault(t, r, sign.FaultUnsigned, "unsigned", 3)
	if len(r.Faults) != 1 {
		t.Errorf("one fault would do for the thread: %v", r.Faults)
	}
}

func TestWithoutARingSignaturesAreCounted(t *testing.T) {
	f := fillStore(t, newKey(t))
	r := verify(t, f.store, nil, nil)
	wantClean(t, r)
	if r.Covered != 0 || len(r.Keys) != 1 || r.Keys[0].Signatures == 0 || r.Keys[0].Valid != 0 {
		t.Errorf("report %+v", r)
	}
}

type brokenSigner struct{}

func (brokenSigner) KeyID() string               { return "ed25519:0000000000000000" }
func (brokenSigner) Sign([]byte) ([]byte, error) { return nil, errors.New("the token was pulled out") }

// TestSignerFailureStopsTheCommit is where we differ from the origin: it went
// on unsigned, so an attacker who could break the signer could write freely.
func TestSignerFailureStopsTheCommit(t *testing.T) {
	f := fillStore(t, newKey(t))
	l := openLedger(t, f.store, brokenSigner{}, f.clock.Now)
	n := countEntries(t, f.store)
	c := posthouse.Root("new", posthouse.State{})
	c.Status = posthouse.StatusDone
	if _, err := l.Save(t.Context(), c, nil); err == nil {
		t.Error("the commit went on without its signature")
	}
	if countEntries(t, f.store) != n {
		t.Error("something was appended")
	}
	if _, err := statement.Witness(t.Context(), f.store, brokenSigner{}, nil); err == nil {
		t.Error("a witness without a signature")
	}
}

// TestVerifyAfterEvictionAndCompaction has bodies go that no deletion named.
func TestVerifyAfterEvictionAndCompaction(t *testing.T) {
	t.Run("memory", func(t *testing.T) { evictAndCompact(t, memstore.New()) })
	t.Run("sqlite", func(t *testing.T) {
		store := must.Get(sqlitestore.Open(t.Context(), filepath.Join(t.TempDir(), "db"), nil))(t)
		evictAndCompact(t, store)
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

func evictAndCompact(t *testing.T, store posthouse.Store) {
	key := newKey(t)
	f := fillInto(t, store, key)
	l := must.Get(ledger.Open(f.store, &ledger.Options{Signer: key, Now: f.clock.Now, MaxCheckpoints: 12}))(t)
	for i := range 20 {
		save(t, l, "hand", strings.Repeat("evicted one by one ", i))
	}
	wantClean(t, verify(t, f.store, ringOf(t, key), &sign.VerifyOptions{RequireSigned: true}))
	if _, err := retain.Compact(t.Context(), l); err != nil && !errors.Is(err, posthouse.ErrUnsupported) {
		t.Fatal(err)
	}
	r := verify(t, f.store, ringOf(t, key), &sign.VerifyOptions{RequireSigned: true})
	wantClean(t, r)
	if r.Removed < 5 {
		t.Errorf("%d bodies are gone; the compaction took none", r.Removed)
	}
}

// A checked store finds something by itself.
type checked struct {
	posthouse.Store
	found []error
}

func (c *checked) Check(context.Context) iter.Seq[error] { return slices.Values(c.found) }

func TestVerifyRunsTheStoresOwnCheck(t *testing.T) {
	f := fillStore(t, nil)
	s := &checked{Store: f.store}
	wantClean(t, verify(t, s, nil, nil))
	s.found = []error{errors.New("page 7 is used twice"), errors.New("row 3 is missing from the index")}
	r := verify(t, s, nil, nil)
	if len(r.Faults) != 2 || r.Faults[0].Kind != sign.FaultStore || !strings.Contains(r.Faults[1].String(), "row 3") {
		t.Errorf("faults %v", r.Faults)
	}
	wantClean(t, verify(t, s, nil, &sign.VerifyOptions{Thread: "hand"}))
}

// TestDamagedSummariesAreNamed has the store unable to read what it derived:
// the logs are verified all the same.
func TestDamagedSummariesAreNamed(t *testing.T) {
	key := newKey(t)
	f := fillStore(t, key)
	broken := &posthouse.Error{Code: posthouse.CodeCorrupt, Message: "does not decode"}
	s := &brokenRows{Store: f.store, thread: "hand", err: broken}
	r := verify(t, s, ringOf(t, key), nil)
	wantFault(t, r, sign.FaultSummary, "hand", 0)
	if r.Threads < 3 || r.Entries < len(readAll(f.store, "hand"))+len(readAll(f.store, "order-1")) {
		t.Errorf("%d threads with %d entries were verified", r.Threads, r.Entries)
	}
	one := verify(t, s, ringOf(t, key), &sign.VerifyOptions{Thread: "hand"})
	wantFault(t, one, sign.FaultSummary, "hand", 0)
	s.log = func(thread string, es []*posthouse.Entry) []*posthouse.Entry {
		es = cloneEntries(es)
		es[1].Header[3] ^= 1
		return es
	}
	wantFault(t, verify(t, s, ringOf(t, key), &sign.VerifyOptions{Thread: "hand"}), sign.FaultHash, "hand", 2)

	s = &brokenRows{Store: f.store, index: "hand", err: broken}
	r = verify(t, s, ringOf(t, key), nil)
	wantFault(t, r, sign.FaultIndex, "hand", 0)
	s.err = posthouse.ErrUnknown
	if _, err := sign.Verify(t.Context(), s, nil, nil); !errors.Is(err, posthouse.ErrUnknown) {
		t.Errorf("a lost connection: %v", err)
	}
}

// brokenRows cannot read one thread's summary, or find and list its
// checkpoints.
type brokenRows struct {
	posthouse.Store
	thread, index string
	err           error
	log           func(string, []*posthouse.Entry) []*posthouse.Entry
}

func (b *brokenRows) Threads(ctx context.Context, q posthouse.ThreadQuery) iter.Seq2[*posthouse.ThreadInfo, error] {
	return func(yield func(*posthouse.ThreadInfo, error) bool) {
		for info, err := range b.Store.Threads(ctx, q) {
			if err == nil && info.Thread == b.thread {
				yield(nil, b.err)
				return
			}
			if !yield(info, err) {
				return
			}
		}
	}
}

func (b *brokenRows) List(ctx context.Context, q posthouse.Query) iter.Seq2[*posthouse.Header, error] {
	return func(yield func(*posthouse.Header, error) bool) {
		for h, err := range b.Store.List(ctx, q) {
			if err == nil && h.Thread == b.index {
				yield(nil, b.err)
				return
			}
			if !yield(h, err) {
				return
			}
		}
	}
}

func (b *brokenRows) Find(ctx context.Context, id posthouse.ID) (posthouse.Ref, error) {
	ref, err := b.Store.Find(ctx, id)
	if err == nil && ref.Thread == b.index {
		return ref, b.err
	}
	return ref, err
}

func (b *brokenRows) Read(ctx context.Context, thread string, r posthouse.Range) iter.Seq2[*posthouse.Entry, error] {
	if b.log != nil && !r.Reverse {
		return (&tampered{Store: b.Store, log: b.log}).Read(ctx, thread, r)
	}
	return b.Store.Read(ctx, thread, r)
}
