package sign_test

import (
	"bytes"
	"context"
	"encoding/base64"
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
)

func save(t *testing.T, l *ledger.Ledger, thread, value string) *posthouse.Checkpoint {
	t.Helper()
	state := must.Get(posthouse.Opaque(nil, value))(t)
	c, err := l.Latest(t.Context(), ledger.LatestQuery{Thread: thread})
	if err != nil {
		return must.Get(l.Save(t.Context(), posthouse.Root(thread, state), nil))(t)
	}
	return must.Get(l.Save(t.Context(), c.Derive(state), nil))(t)
}

// TestWitnessFindsARewoundStore keeps an old copy of a store, as a backup would
// be, and puts it in the place of the grown one. The copy is consistent in
// itself.
func TestWitnessFindsARewoundStore(t *testing.T) {
	key := newKey(t)
	ring := ringOf(t, key)
	f := fillStore(t, key)
	old := must.Get(statement.Witness(t.Context(), f.store, key, &statement.WitnessOptions{Now: f.clock.Now}))(t)
	wantClean(t, verify(t, f.store, ring, &sign.VerifyOptions{Witness: old}))

	// An identical store, filled with another run of the same calls up to here.
	save(t, f.ledger, "hand", "one more")
	save(t, f.ledger, "new", "thread")
	now := must.Get(statement.Witness(t.Context(), f.store, key, nil))(t)
	for _, head := range []*sign.Head{old, now} {
		r := verify(t, f.store, ring, &sign.VerifyOptions{Witness: head})
		wantClean(t, r)
		if r.Witnessed != len(head.Threads) {
			t.Errorf("%d of %d threads witnessed", r.Witnessed, len(head.Threads))
		}
	}
	tail := len(readAll(f.store, "hand"))
	var before *posthouse.ThreadInfo
	short := &tampered{Store: f.store,
		log: func(thread string, es []*posthouse.Entry) []*posthouse.Entry {
			if thread == "hand" {
				es = es[:tail-1]
			}
			return es
		},
		summary: func(i *posthouse.ThreadInfo) *posthouse.ThreadInfo {
			switch i.Thread {
			case "new":
				return nil
			case "hand":
				return before
			}
			return i
		},
		find: func(id posthouse.ID, ref posthouse.Ref) (posthouse.Ref, error) { return ref, nil },
		list: func(h *posthouse.Header) *posthouse.Header {
			if h.Thread == "hand" && h.Seq == uint64(tail) {
				return nil
			}
			return h
		},
	}
	before = &posthouse.ThreadInfo{Thread: "hand"}
	for _, e := range readAll(f.store, "hand")[:tail-1] {
		if err := before.Apply(e); err != nil {
			t.Fatal(err)
		}
	}
	wantClean(t, verify(t, short, ring, nil)) // the control arm: nothing to be seen without a witness
	wantClean(t, verify(t, short, ring, &sign.VerifyOptions{Witness: old}))
	r := verify(t, short, ring, &sign.VerifyOptions{Witness: now})
	wantFault(t, r, sign.FaultRewound, "hand", uint64(tail-1))
	wantFault(t, r, sign.FaultVanished, "new", 0)
	if len(r.Faults) != 2 {
		t.Errorf("faults: %v", r.Faults)
	}
	r = verify(t, short, ring, &sign.VerifyOptions{Witness: now, Thread: "new"})
	wantFault(t, r, sign.FaultVanished, "new", 0)
}

// TestWitnessFindsAFork has two stores grow from one beginning.
func TestWitnessFindsAFork(t *testing.T) {
	key := newKey(t)
	f := fillStore(t, key)
	head := must.Get(statement.Witness(t.Context(), f.store, key, nil))(t)
	// The key's owner, or a thief, rewrites the last entry and signs it.
	last := uint64(len(readAll(f.store, "order-1")))
	s := rewrite(f.store, "order-1", func(es []*posthouse.Entry) {
		for _, e := range es {
			e.Sig = nil
		}
		e := es[last-1]
		e.Header[1] ^= 1
	})
	r := verify(t, s, ringOf(t, key), &sign.VerifyOptions{Witness: head, Thread: "order-1"})
	wantFault(t, r, sign.FaultForked, "order-1", last)
}

// TestWitnessAcceptsAttestedRemovals deletes a thread after it was seen.
func TestWitnessAcceptsAttestedRemovals(t *testing.T) {
	key := newKey(t)
	f := fillStore(t, key)
	head := must.Get(statement.Witness(t.Context(), f.store, key, nil))(t)
	must.Get(retain.DeleteThread(t.Context(), f.ledger, "hand", nil))(t)
	r := verify(t, f.store, ringOf(t, key), &sign.VerifyOptions{Witness: head})
	wantClean(t, r)
	if r.Witnessed != len(head.Threads) {
		t.Errorf("%d of %d witnessed", r.Witnessed, len(head.Threads))
	}
	// An unsigned removal is no excuse.
	unsigned := openLedger(t, f.store, nil, f.clock.Now)
	must.Get(retain.DeleteThread(t.Context(), unsigned, "order-1", nil))(t)
	r = verify(t, f.store, ringOf(t, key), &sign.VerifyOptions{Witness: head})
	wantFault(t, r, sign.FaultVanished, "order-1", 0)
}

func TestWitnessRefusesAStoreThatDoesNotEndWhereItSays(t *testing.T) {
	key := newKey(t)
	f := fillStore(t, key)
	for _, s := range []*tampered{
		mutate(f.store, "hand", func(es []*posthouse.Entry) []*posthouse.Entry { return es[:len(es)-1] }),
		mutate(f.store, "hand", func(es []*posthouse.Entry) []*posthouse.Entry { es[len(es)-1].Header[1] ^= 1; return es }),
	} {
		if _, err := statement.Witness(t.Context(), s, key, nil); !errors.Is(err, posthouse.ErrCorrupt) {
			t.Errorf("witness: %v", err)
		}
	}
}

func TestHeadFile(t *testing.T) {
	key := newKey(t)
	f := fillStore(t, key)
	head := must.Get(statement.Witness(t.Context(), f.store, key, &statement.WitnessOptions{Now: f.clock.Now}))(t)
	path := filepath.Join(t.TempDir(), "head.json")
	if err := statement.SaveHead(path, head); err != nil {
		t.Fatal(err)
	}
	back := must.Get(statement.LoadHead(path, ringOf(t, key)))(t)
	if !back.At.Equal(head.At) || len(back.Threads) != len(head.Threads) || back.KeyID != key.KeyID() {
		t.Errorf("read back %+v", back)
	}
	for i := range back.Threads {
		if back.Threads[i] != head.Threads[i] {
			t.Errorf("thread %d: %+v, want %+v", i, back.Threads[i], head.Threads[i])
		}
	}
	if _, err := statement.LoadHead(path, ringOf(t, newKey(t))); !errors.Is(err, posthouse.ErrForbidden) {
		t.Errorf("another ring: %v", err)
	}
	if _, err := statement.LoadHead(path+"x", nil); !errors.Is(err, posthouse.ErrNotFound) {
		t.Errorf("no file: %v", err)
	}
	if err := statement.SaveHead(path, &sign.Head{}); !errors.Is(err, posthouse.ErrInvalid) {
		t.Errorf("unsigned: %v", err)
	}
	retired := key.Public()
	retired.NotAfter = head.At.Add(-time.Hour)
	if _, err := statement.LoadHead(path, must.Get(sign.NewRing(retired))(t)); !errors.Is(err, posthouse.ErrForbidden) {
		t.Errorf("a key that was retired before: %v", err)
	}

	// Every changed byte of what is signed is found.
	data := head.Envelope
	for i := range data {
		bad := bytes.Clone(data)
		bad[i] ^= 4
		h, err := statement.ParseHead(bad, ringOf(t, key))
		if err == nil && !sameThreads(h, head) {
			t.Fatalf("byte %d changed what is said", i)
		}
	}
	signed := func(payload any) []byte { return seal(t, key, "application/vnd.posthouse.head+json", payload) }
	thread := func(name string) map[string]any {
		return map[string]any{"thread": name, "seq": 1, "hash": strings.Repeat("ab", 32)}
	}
	for name, c := range map[string]struct {
		data []byte
		want error
	}{
		"no JSON":       {[]byte("hello"), posthouse.ErrInvalid},
		"another type":  {seal(t, key, "text/plain", "hello"), posthouse.ErrInvalid},
		"no object":     {signed([]int{1}), posthouse.ErrInvalid},
		"newer":         {signed(map[string]any{"format": 2}), posthouse.ErrNewer},
		"no format":     {signed(map[string]any{}), posthouse.ErrInvalid},
		"out of order":  {signed(map[string]any{"format": 1, "threads": []any{thread("b"), thread("a")}}), posthouse.ErrInvalid},
		"twice":         {signed(map[string]any{"format": 1, "threads": []any{thread("a"), thread("a")}}), posthouse.ErrInvalid},
		"no hash":       {signed(map[string]any{"format": 1, "threads": []any{map[string]any{"thread": "a", "seq": 1}}}), posthouse.ErrInvalid},
		"no signature":  {[]byte(`{"payloadType":"application/vnd.posthouse.head+json","payload":"e30=","signatures":[]}`), posthouse.ErrForbidden},
		"payload":       {[]byte(`{"payloadType":"application/vnd.posthouse.head+json","payload":"!","signatures":[]}`), posthouse.ErrInvalid},
		"bad signature": {[]byte(`{"payloadType":"application/vnd.posthouse.head+json","payload":"e30=","signatures":[{"keyid":"` + key.KeyID() + `","sig":"AAAA"}]}`), posthouse.ErrCorrupt},
	} {
		if _, err := statement.ParseHead(c.data, ringOf(t, key)); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

func sameThreads(a, b *sign.Head) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return bytes.Equal(x, y)
}

// seal writes a DSSE envelope in its own way: base64 URL-safe, as the format
// allows.
func seal(t testing.TB, key *sign.Key, payloadType string, payload any) []byte {
	t.Helper()
	body := must.Get(json.Marshal(payload))(t)
	pae := label("DSSEv1", len(payloadType), payloadType, len(body), string(body))
	sig := must.Get(key.Sign([]byte(pae)))(t)
	return must.Get(json.Marshal(map[string]any{
		"payloadType": payloadType, "payload": base64.URLEncoding.EncodeToString(body),
		"signatures": []any{map[string]any{"keyid": key.KeyID(), "sig": base64.URLEncoding.EncodeToString(sig)}},
	}))(t)
}

// A shrinking store loses something between the listing of a thread and the
// reading of its end.
type shrinking struct {
	posthouse.Store
	lose func(thread string)
}

func (s *shrinking) Read(ctx context.Context, thread string, r posthouse.Range) iter.Seq2[*posthouse.Entry, error] {
	s.lose(thread)
	return s.Store.Read(ctx, thread, r)
}

// TestWitnessBesideAWriter deletes one thread for good and another for its
// record while the statement is made.
func TestWitnessBesideAWriter(t *testing.T) {
	key := newKey(t)
	f := fillStore(t, key)
	done := map[string]bool{}
	s := &shrinking{Store: f.store, lose: func(thread string) {
		if done[thread] {
			return
		}
		done[thread] = true
		switch thread {
		case "hand":
			must.Get(retain.DeleteThread(t.Context(), f.ledger, thread, nil))(t)
		case "order-1":
			must.Get(f.store.Remove(t.Context(), posthouse.Removal{Thread: thread, All: true}))(t)
		}
	}}
	head := must.Get(statement.Witness(t.Context(), s, key, nil))(t)
	wantClean(t, verify(t, f.store, ringOf(t, key), &sign.VerifyOptions{Witness: head}))
	var names []string
	for _, th := range head.Threads {
		names = append(names, th.Thread)
	}
	if want := []string{"again", "gone", "hand", "order-2", "versions"}; !slices.Equal(names, want) {
		t.Errorf("the statement is about %v, want %v", names, want)
	}
}
