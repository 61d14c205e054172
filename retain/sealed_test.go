package retain

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/crypt"
	"github.com/posthouse/posthouse/internal/encryption"
	"github.com/posthouse/posthouse/ledger"
)

// sealedEntry returns a Ledger over one entry with two sealed step results.
func sealedEntry(t testing.TB) (*ledger.Ledger, *slotStore) {
	t.Helper()
	ring, err := crypt.NewKeyring(map[string][]byte{"k": bytes.Repeat([]byte("k"), 32)}, "k")
	if err != nil {
		t.Fatal(err)
	}
	s := &slotStore{fakeStore: fakeStore{info: &posthouse.ThreadInfo{Thread: "t"}}, slots: map[posthouse.SlotKey]posthouse.Slot{}}
	l, err := ledger.Open(s, &ledger.Options{Cipher: ring})
	if err != nil {
		t.Fatal(err)
	}
	draft := &ledger.Draft{Thread: "t", Steps: []posthouse.Step{
		{Task: "1/n", Name: "a", Value: posthouse.Value{Codec: "raw", Data: bytes.Repeat([]byte("first "), 50)}}, {Task: "1/n", Name: "b", Value: posthouse.Value{Codec: "raw", Data: []byte("second")}},
	}}
	if _, err := l.Commit(context.Background(), draft); err != nil {
		t.Fatal(err)
	}
	return l, s
}

// A slotStore is a fakeStore with slots.
type slotStore struct {
	fakeStore
	slots map[posthouse.SlotKey]posthouse.Slot
}

func (s *slotStore) Append(_ context.Context, b *posthouse.Batch) error {
	e, info := *b.Entry, *b.Thread
	e.Header, e.Bodies = bytes.Clone(e.Header), append([][]byte(nil), e.Bodies...)
	s.log, s.info = append(s.log, &e), &info
	return nil
}

func (s *slotStore) Slot(_ context.Context, k posthouse.SlotKey, op posthouse.SlotOp) (posthouse.Slot, error) {
	have, ok := s.slots[k]
	switch {
	case op.Verb == posthouse.SlotGet && !ok:
		return have, posthouse.NotFound("slot", k)
	case op.Verb == posthouse.SlotPut:
		if op.Revision != have.Revision {
			return have, posthouse.ErrConflict
		}
		have = posthouse.Slot{Value: bytes.Clone(op.Value), Revision: have.Revision + 1}
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
	recs, err := e.CheckRecords()
	if err != nil {
		t.Fatal(err)
	}
	if body, err := l.Core().Vault.OpenBody(ctx, e, recs, 1); err != nil || string(body) != "second" {
		t.Fatalf("in its place: %q, %v", body, err)
	}
	for name, move := range map[string]func(*posthouse.Entry, []posthouse.Record){
		"another record":     func(e *posthouse.Entry, _ []posthouse.Record) { e.Bodies[1] = e.Bodies[0] },
		"another entry":      func(e *posthouse.Entry, _ []posthouse.Record) { e.Seq++ },
		"another thread":     func(e *posthouse.Entry, _ []posthouse.Record) { e.Thread = "u" },
		"another generation": func(e *posthouse.Entry, _ []posthouse.Record) { e.Generation++ },
		"another kind":       func(_ *posthouse.Entry, r []posthouse.Record) { r[1].Kind = posthouse.RecordGate },
		"a flipped bit": func(e *posthouse.Entry, _ []posthouse.Record) {
			e.Bodies[1] = bytes.Clone(e.Bodies[1])
			e.Bodies[1][20] ^= 1
		},
		"no nonce": func(e *posthouse.Entry, _ []posthouse.Record) { e.Bodies[1] = e.Bodies[1][:5] },
	} {
		c, r := *e, append([]posthouse.Record(nil), recs...)
		c.Bodies = append([][]byte(nil), e.Bodies...)
		move(&c, r)
		l.Core().Vault.Keys.Put(encryption.DataKeyOf{Thread: c.Thread, Generation: c.Generation}, l.Core().Vault.Keys.Get(encryption.DataKeyOf{Thread: "t", Generation: 1})) // even with its own key
		if body, err := l.Core().Vault.OpenBody(ctx, &c, r, 1); !errors.Is(err, posthouse.ErrSealed) {
			t.Errorf("%s: %q, %v, want ErrSealed", name, body, err)
		}
	}
	c := *e
	c.Bodies = [][]byte{nil, append([]byte{9}, e.Bodies[1]...)}
	if _, err := l.Core().Vault.OpenBody(ctx, &c, recs, 1); !errors.Is(err, posthouse.ErrNewer) {
		t.Errorf("a form to come: %v, want ErrNewer", err)
	}
}

// FuzzSealed opens bodies and data keys that are anything at all: the answer is
// the bytes that were sealed or an error of ours.
func FuzzSealed(f *testing.F) {
	_, s := sealedEntry(f)
	of := encryption.DataKeyOf{Thread: "t", Generation: 1}
	f.Add(s.log[0].Bodies[0], s.slots[of.Slot()].Value)
	f.Add([]byte{}, []byte(`{"format":1,"key":"k","wrapped":"AAAA"}`))
	f.Add([]byte{1}, []byte(`{"format":1,"key":"other","wrapped":""}`))
	f.Fuzz(func(t *testing.T, body, slot []byte) {
		l, s := sealedEntry(t)
		ctx := context.Background()
		told := func(err error) {
			t.Helper()
			var e *posthouse.Error
			if err != nil && !errors.As(err, &e) {
				t.Fatalf("an error that is none of ours: %v", err)
			}
		}
		e := s.log[0]
		recs, err := e.CheckRecords()
		if err != nil {
			t.Fatal(err)
		}
		was := e.Bodies[0]
		e.Bodies[0] = body
		recs[0].Size, recs[0].Hash = len(body), sha256.Sum256(body)
		got, err := l.Core().Vault.OpenBody(ctx, e, recs, 0)
		if told(err); err == nil && len(body) > 0 && !bytes.Equal(body, was) {
			t.Fatalf("a forged body opens: %q", got)
		}
		key := s.slots[of.Slot()]
		genuine := key.Value
		key.Value = slot
		s.slots[of.Slot()] = key
		fresh, err := ledger.Open(s, &ledger.Options{Cipher: l.Core().Config.Cipher, Now: l.Core().Config.Now})
		if err != nil {
			t.Fatal(err)
		}
		e.Bodies[0] = was
		got, err = fresh.Core().Vault.OpenBody(ctx, e, recs, 0)
		if told(err); err == nil && !bytes.Equal(slot, genuine) && !bytes.HasPrefix(got, []byte("first")) {
			t.Fatalf("a forged key opens: %q", got)
		}
	})
}
