package ledger_test

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/store/memstore"
)

// A testSigner is an Ed25519 key made for the test.
type testSigner ed25519.PrivateKey

func newSigner(t testing.TB) testSigner {
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	return testSigner(key)
}

func (testSigner) KeyID() string { return "ed25519:test" }

func (s testSigner) Sign(m []byte) ([]byte, error) {
	return ed25519.Sign(ed25519.PrivateKey(s), m), nil
}

// A tampered store changes entries on their way out.
type tampered struct {
	posthouse.Store
	change func(*posthouse.Entry)
}

func (s *tampered) Read(ctx context.Context, thread string, r posthouse.Range) iter.Seq2[*posthouse.Entry, error] {
	return func(yield func(*posthouse.Entry, error) bool) {
		for e, err := range s.Store.Read(ctx, thread, r) {
			if err == nil {
				s.change(e)
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// busyThread fills a thread with every kind of record.
func busyThread(t testing.TB, l *ledger.Ledger) {
	t.Helper()
	ctx := context.Background()
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	c := must.Get(l.Claim(ctx, "t", "run"))(t)
	commit := func(d ledger.Draft) *posthouse.Committed {
		t.Helper()
		d.Thread, d.Claim = "t", c
		return must.Get(l.Commit(ctx, &d))(t)
	}
	commit(ledger.Draft{Checkpoint: &posthouse.Change{
		Kind: posthouse.KindInput, Status: posthouse.StatusRunning, Next: []string{"a"}, Labels: map[string]string{"k": "v"},
		Metadata: map[string]string{"who": "me"}, State: posthouse.State{"m": {Codec: "json", Data: []byte("[0]")}, "s": {Codec: "raw", Data: []byte(strings.Repeat("s", 600))}},
	}})
	size := 3
	for i := range 40 { // across a manifest
		result := fmt.Sprintf("%q", strings.Repeat(string(rune('a'+i%26)), 400))
		commit(ledger.Draft{Steps: []posthouse.Step{{Task: fmt.Sprint(i+2, "/a"), Name: "llm", Value: posthouse.Value{Codec: "json", Data: []byte(result)}}}})
		commit(ledger.Draft{Checkpoint: &posthouse.Change{
			Kind: posthouse.KindNode, Status: posthouse.StatusRunning, Node: "a", Next: []string{"a"},
			Parts: []posthouse.Part{{Name: "m", Splice: true, Prefix: size - 1, Suffix: 1, Data: []byte("," + result)}},
		}})
		size += 1 + len(result)
	}
	w := commit(ledger.Draft{
		Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, Next: []string{"a"}},
		Gates:      []posthouse.Gate{{Name: "ok?", Task: "42/a", Payload: json.RawMessage(`{"x":1}`)}, {Name: "also?", Task: "42/a"}},
	})
	ok(c.Release(ctx))
	must.Get(l.Decide(ctx, w.Gates[0].ID, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"}))(t)
	f := must.Get(l.Fork(ctx, w.Checkpoint.ID, nil))(t)
	f2 := must.Get(l.Save(ctx, f.Derive(posthouse.State{"m": {Codec: "json", Data: []byte(`"gone"`)}}), nil))(t)
	must.Get(retain.Delete(ctx, l, f2.ID, &retain.DeleteOptions{Reason: "test"}))(t)
}

// readAll asks everything there is to ask and returns the answers as text.
func readAll(l *ledger.Ledger) (string, error) {
	ctx := context.Background()
	var b strings.Builder
	var errs []error
	note := func(v any, err error) {
		if err != nil {
			errs = append(errs, err)
			return
		}
		data, _ := json.Marshal(v)
		b.Write(data)
		b.WriteByte('\n')
	}
	for c, err := range l.ListStates(ctx, posthouse.Query{Thread: "t"}) {
		note(c, err)
	}
	for h, err := range l.List(ctx, posthouse.Query{Thread: "t"}) {
		if err == nil {
			x, err := executionOf(ctx, l, h, fmt.Sprint(h.Step+1, "/a"))
			note(x, err)
			again, err := l.GetHeader(ctx, h.ID)
			note(again, err)
			for _, g := range h.Gates {
				gate, err := l.Gate(ctx, g)
				note(gate, err)
			}
		}
	}
	for e, err := range l.Log(ctx, "t", posthouse.Range{}) {
		if err == nil {
			note(e.Events, nil)
		} else {
			note(nil, err)
		}
	}
	for g, err := range l.Gates(ctx, ledger.GateQuery{}) {
		note(g, err)
	}
	return b.String(), errors.Join(errs...)
}

// TestTamperedReadsFail flips a bit in each byte of each entry in turn: every
// answer is then either what it was, or ErrCorrupt. Nothing changed is served.
func TestTamperedReadsFail(t *testing.T) {
	store := memstore.New()
	l := must.Get(ledger.Open(store, &ledger.Options{Signer: newSigner(t)}))(t)
	busyThread(t, l)
	want, err := readAll(l)
	if err != nil {
		t.Fatal(err)
	}
	var entries []*posthouse.Entry
	for e, err := range store.Read(context.Background(), "t", posthouse.Range{}) {
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, e)
	}
	try := func(what string, seq uint64, change func(*posthouse.Entry)) {
		bad := must.Get(ledger.Open(&tampered{store, func(e *posthouse.Entry) {
			if e.Seq == seq {
				change(e)
			}
		}}, nil))(t)
		got, err := readAll(bad)
		if err == nil && got != want {
			t.Errorf("entry %d, %s: an answer changed and no error told", seq, what)
		}
		for _, e := range strings.Split(fmt.Sprint(err), "\n") {
			if err != nil && !errors.Is(err, posthouse.ErrCorrupt) && !errors.Is(err, posthouse.ErrNewer) {
				t.Errorf("entry %d, %s: %s", seq, what, e)
			}
		}
		if err == nil && what != "signature" {
			t.Errorf("entry %d, %s: not found", seq, what)
		}
	}
	stride := 5
	if testing.Short() {
		stride = 97
	}
	for _, e := range []*posthouse.Entry{entries[0], entries[1], entries[2], entries[80], entries[81], entries[82], entries[83], entries[84], entries[len(entries)-1]} {
		for i := 0; i < len(e.Header); i += stride {
			try(fmt.Sprint("header byte ", i), e.Seq, func(e *posthouse.Entry) { e.Header[i] ^= 1 })
		}
		for r := range e.Bodies {
			for i := 0; i < len(e.Bodies[r]); i += 197 {
				try(fmt.Sprint("body ", r, " byte ", i), e.Seq, func(e *posthouse.Entry) {
					if e.Bodies != nil && len(e.Bodies[r]) > 0 {
						e.Bodies[r][i] ^= 1
					}
				})
			}
		}
		try("hash", e.Seq, func(e *posthouse.Entry) { e.Hash[5] ^= 1 })
		try("previous", e.Seq, func(e *posthouse.Entry) { e.Prev[5] ^= 1 })
		try("generation", e.Seq, func(e *posthouse.Entry) { e.Generation++ })
		try("thread", e.Seq, func(e *posthouse.Entry) { e.Thread += "x" })
		try("a body too many", e.Seq, func(e *posthouse.Entry) { e.Bodies = append(slices.Clone(e.Bodies), []byte("x")) })
		try("format", e.Seq, func(e *posthouse.Entry) { e.Header[0] = 9; e.Hash = e.Sum() })
		try("leftovers", e.Seq, func(e *posthouse.Entry) { e.Header = append(e.Header, 0); e.Hash = e.Sum() })
	}
}

// TestMissingEntriesAreFound leaves out one entry after the other.
func TestMissingEntriesAreFound(t *testing.T) {
	store := memstore.New()
	l := must.Get(ledger.Open(store, nil))(t)
	busyThread(t, l)
	want, err := readAll(l)
	if err != nil {
		t.Fatal(err)
	}
	for seq := uint64(1); seq <= 83; seq++ {
		bad := must.Get(ledger.Open(&without{store, seq}, nil))(t)
		if got, err := readAll(bad); err == nil && got == want {
			t.Errorf("nobody misses entry %d", seq)
		} else if err != nil && !errors.Is(err, posthouse.ErrCorrupt) {
			t.Errorf("entry %d: %v", seq, err)
		}
	}
}

// A without store has lost one entry.
type without struct {
	posthouse.Store
	seq uint64
}

func (s *without) Read(ctx context.Context, thread string, r posthouse.Range) iter.Seq2[*posthouse.Entry, error] {
	return func(yield func(*posthouse.Entry, error) bool) {
		for e, err := range s.Store.Read(ctx, thread, r) {
			if err == nil && e.Seq == s.seq {
				continue
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// TestDamageStaysInItsThread: a record that cannot be read is reported, and does
// not hide the rest.
func TestDamageStaysInItsThread(t *testing.T) {
	ctx := context.Background()
	store := memstore.New()
	l := must.Get(ledger.Open(store, nil))(t)
	for _, thread := range []string{"a", "b", "c"} {
		must.Get(l.Commit(ctx, &ledger.Draft{
			Thread:     thread,
			Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, Next: []string{"a"}, State: posthouse.State{"s": {Codec: "json", Data: []byte(`"` + thread + `"`)}}},
			Gates:      []posthouse.Gate{{Name: "ok?", Task: "1/a"}},
		}))(t)
	}
	bad := must.Get(ledger.Open(&tampered{store, func(e *posthouse.Entry) {
		if e.Thread == "b" && len(e.Bodies) > 0 {
			e.Bodies[0][0] ^= 1
		}
	}}, nil))(t)
	var gates, states []string
	for g, err := range bad.Gates(ctx, ledger.GateQuery{}) {
		if g == nil {
			t.Fatal(err)
		}
		gates = append(gates, fmt.Sprint(g.Thread, " ", g.ID != "", " ", g.Name, " ", errors.Is(err, posthouse.ErrCorrupt)))
	}
	if want := []string{"a true ok? false", "b true  true", "c true ok? false"}; !slices.Equal(gates, want) {
		t.Errorf("gates: %q, want %q", gates, want)
	}
	for c, err := range bad.ListStates(ctx, posthouse.Query{Descending: true}) {
		if c == nil {
			t.Fatal(err)
		}
		states = append(states, fmt.Sprint(c.Thread, " ", c.Status, " ", len(c.State), " ", errors.Is(err, posthouse.ErrCorrupt)))
	}
	if want := []string{"c waiting 1 false", "b waiting 0 true", "a waiting 1 false"}; !slices.Equal(states, want) {
		t.Errorf("states: %q, want %q", states, want)
	}
}
