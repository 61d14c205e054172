package posthouse

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"testing"
	"time"
)

// sealedEntry returns a Ledger over one entry with two sealed step results.
func sealedEntry(t testing.TB) (*Ledger, *slotStore) {
	t.Helper()
	ring, err := NewKeyring(map[string][]byte{"k": bytes.Repeat([]byte("k"), 32)}, "k")
	if err != nil {
		t.Fatal(err)
	}
	s := &slotStore{fakeStore: fakeStore{info: &ThreadInfo{Thread: "t"}}, slots: map[SlotKey]Slot{}}
	l, err := Open(s, &Options{Cipher: ring})
	if err != nil {
		t.Fatal(err)
	}
	draft := &Draft{Thread: "t", Steps: []Step{
		{Task: "1/n", Name: "a", Value: Value{"raw", bytes.Repeat([]byte("first "), 50)}}, {Task: "1/n", Name: "b", Value: Value{"raw", []byte("second")}},
	}}
	if _, err := l.Commit(context.Background(), draft); err != nil {
		t.Fatal(err)
	}
	return l, s
}

// A slotStore is a fakeStore with slots.
type slotStore struct {
	fakeStore
	slots map[SlotKey]Slot
}

func (s *slotStore) Append(_ context.Context, b *Batch) error {
	e, info := *b.Entry, *b.Thread
	e.Header, e.Bodies = bytes.Clone(e.Header), append([][]byte(nil), e.Bodies...)
	s.log, s.info = append(s.log, &e), &info
	return nil
}

func (s *slotStore) Slot(_ context.Context, k SlotKey, op SlotOp) (Slot, error) {
	have, ok := s.slots[k]
	switch {
	case op.Verb == SlotGet && !ok:
		return have, notFound("slot", k)
	case op.Verb == SlotPut:
		if op.Revision != have.Revision {
			return have, ErrConflict
		}
		have = Slot{Value: bytes.Clone(op.Value), Revision: have.Revision + 1}
		s.slots[k] = have
	}
	return have, nil
}

// TestSealedBodiesOpenInTheirPlaceOnly moves a sealed body, its hash made good,
// to every other place.
func TestSealedBodiesOpenInTheirPlaceOnly(t *testing.T) {
	l, s := sealedEntry(t)
	ctx := context.Background()
	e := s.log[0]
	recs, err := e.check()
	if err != nil {
		t.Fatal(err)
	}
	if body, err := l.open(ctx, e, recs, 1); err != nil || string(body) != "second" {
		t.Fatalf("in its place: %q, %v", body, err)
	}
	for name, move := range map[string]func(*Entry, []Record){
		"another record":     func(e *Entry, _ []Record) { e.Bodies[1] = e.Bodies[0] },
		"another entry":      func(e *Entry, _ []Record) { e.Seq++ },
		"another thread":     func(e *Entry, _ []Record) { e.Thread = "u" },
		"another generation": func(e *Entry, _ []Record) { e.Generation++ },
		"another kind":       func(_ *Entry, r []Record) { r[1].Kind = RecordGate },
		"a flipped bit":      func(e *Entry, _ []Record) { e.Bodies[1] = bytes.Clone(e.Bodies[1]); e.Bodies[1][20] ^= 1 },
		"no nonce":           func(e *Entry, _ []Record) { e.Bodies[1] = e.Bodies[1][:5] },
	} {
		c, r := *e, append([]Record(nil), recs...)
		c.Bodies = append([][]byte(nil), e.Bodies...)
		move(&c, r)
		l.keys.put(dataKeyOf{c.Thread, c.Generation}, l.keys.get(dataKeyOf{"t", 1})) // even with its own key
		if body, err := l.open(ctx, &c, r, 1); !errors.Is(err, ErrSealed) {
			t.Errorf("%s: %q, %v, want ErrSealed", name, body, err)
		}
	}
	c := *e
	c.Bodies = [][]byte{nil, append([]byte{9}, e.Bodies[1]...)}
	if _, err := l.open(ctx, &c, recs, 1); !errors.Is(err, ErrNewer) {
		t.Errorf("a form to come: %v, want ErrNewer", err)
	}
}

// TestSealedHeaders checks that there is one encoding: what has no body, or one
// that stays readable, cannot be marked as sealed.
func TestSealedHeaders(t *testing.T) {
	for name, r := range map[string]Record{
		"no body":   {Kind: RecordStep, Step: &StepInfo{Codec: "json", Branch: MainBranch}, Sealed: true},
		"a claim":   {Kind: RecordClaim, Claim: &ClaimInfo{}, Size: 1, Sealed: true},
		"a removal": {Kind: RecordRemoval, Removal: &RemovalInfo{}, Size: 1, Sealed: true},
	} {
		h := &entryHeader{time: time.UnixMilli(1), records: []Record{r}}
		if _, err := (&Entry{Seq: 1, Header: h.append(nil)}).Records(); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v, want ErrCorrupt", name, err)
		}
	}
}

// FuzzSealed opens bodies and data keys that are anything at all: the answer is
// the bytes that were sealed or an error of ours.
func FuzzSealed(f *testing.F) {
	_, s := sealedEntry(f)
	of := dataKeyOf{"t", 1}
	f.Add(s.log[0].Bodies[0], s.slots[of.slot()].Value)
	f.Add([]byte{}, []byte(`{"format":1,"key":"k","wrapped":"AAAA"}`))
	f.Add([]byte{1}, []byte(`{"format":1,"key":"other","wrapped":""}`))
	f.Fuzz(func(t *testing.T, body, slot []byte) {
		l, s := sealedEntry(t)
		ctx := context.Background()
		told := func(err error) {
			t.Helper()
			var e *Error
			if err != nil && !errors.As(err, &e) {
				t.Fatalf("an error that is none of ours: %v", err)
			}
		}
		e := s.log[0]
		recs, err := e.check()
		if err != nil {
			t.Fatal(err)
		}
		was := e.Bodies[0]
		e.Bodies[0] = body
		recs[0].Size, recs[0].Hash = len(body), sha256.Sum256(body)
		got, err := l.open(ctx, e, recs, 0)
		if told(err); err == nil && len(body) > 0 && !bytes.Equal(body, was) {
			t.Fatalf("a forged body opens: %q", got)
		}
		key := s.slots[of.slot()]
		genuine := key.Value
		key.Value = slot
		s.slots[of.slot()] = key
		fresh, err := Open(s, &l.opt)
		if err != nil {
			t.Fatal(err)
		}
		e.Bodies[0] = was
		got, err = fresh.open(ctx, e, recs, 0)
		if told(err); err == nil && !bytes.Equal(slot, genuine) && !bytes.HasPrefix(got, []byte("first")) {
			t.Fatalf("a forged key opens: %q", got)
		}
	})
}
