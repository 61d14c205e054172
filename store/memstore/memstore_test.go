package memstore

import (
	"context"
	"errors"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/store/storetest"
)

// filled returns a store with a thread of three checkpoints.
func filled(t *testing.T) (*Store, *storetest.Log) {
	s := New()
	l := storetest.NewBuilder().Log("t1")
	for range 3 {
		b := l.Next(l.Checkpoint(posthouse.Header{Status: posthouse.StatusRunning}, "state"))
		if err := s.Append(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		l.Took(b)
	}
	return s, l
}

func TestAppendRefusesWhatNoLedgerSends(t *testing.T) {
	s, l := filled(t)
	for name, spoil := range map[string]func(*posthouse.Batch){
		"no entry":         func(b *posthouse.Batch) { b.Entry = nil },
		"no summary":       func(b *posthouse.Batch) { b.Thread = nil },
		"no thread":        func(b *posthouse.Batch) { b.Entry.Thread, b.Thread.Thread = "", "" },
		"another's":        func(b *posthouse.Batch) { b.Thread.Thread = "t2" },
		"another summary":  func(b *posthouse.Batch) { b.Thread.Tail.Hash[0] ^= 1 },
		"another sequence": func(b *posthouse.Batch) { b.Entry.Seq++ },
	} {
		b := l.Next(l.Step("s", []byte("x")))
		spoil(b)
		if err := s.Append(t.Context(), b); !errors.Is(err, posthouse.ErrInvalid) {
			t.Errorf("%s: got %v, want code invalid", name, err)
		}
	}
	if _, err := s.Slot(t.Context(), posthouse.SlotKey{}, posthouse.SlotOp{Verb: 9}); !errors.Is(err, posthouse.ErrInvalid) {
		t.Errorf("an unknown verb: got %v, want code invalid", err)
	}
}

// TestNoop is the origin's no-op store: a save succeeds, and then there is
// nothing.
func TestNoop(t *testing.T) {
	ctx, s := t.Context(), Noop()
	led, err := ledger.Open(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	in := posthouse.Root("desk", posthouse.State{posthouse.OpaquePart: {Codec: "raw", Data: []byte("x")}})
	out, err := led.Save(ctx, in, nil)
	if err != nil || string(out.State[posthouse.OpaquePart].Data) != "x" || out.ID == "" {
		t.Fatalf("Save: %+v, %v", out, err)
	}
	out, err = led.Save(ctx, out.Derive(out.State), nil)
	if err != nil {
		t.Fatalf("Save of a child: %v", err)
	}
	for name, err := range map[string]error{
		"Get": second(led.Get(ctx, out.ID)), "Fork": second(led.Fork(ctx, out.ID, nil)), "Delete": second(retain.Delete(ctx, led, out.ID, nil)),
		"Slot": second(s.Slot(ctx, posthouse.SlotKey{}, posthouse.SlotOp{})),
	} {
		if !errors.Is(err, posthouse.ErrNotFound) {
			t.Errorf("%s: got %v, want code not-found", name, err)
		}
	}
	for h, err := range led.List(ctx, posthouse.Query{}) {
		t.Errorf("listed %v, %v", h, err)
	}
	for info, err := range s.Threads(ctx, posthouse.ThreadQuery{}) {
		t.Errorf("a thread %v, %v", info, err)
	}
	for e, err := range s.Read(ctx, "desk", posthouse.Range{}) {
		t.Errorf("an entry %v, %v", e, err)
	}
	for _, verb := range []posthouse.SlotVerb{posthouse.SlotPut, posthouse.SlotDelete} {
		if _, err := s.Slot(ctx, posthouse.SlotKey{}, posthouse.SlotOp{Verb: verb, Value: []byte("x")}); err != nil {
			t.Errorf("slot: %v", err)
		}
	}
	if done, err := s.Remove(ctx, posthouse.Removal{All: true}); err != nil || done != (posthouse.Removed{}) {
		t.Errorf("Remove: %v, %v", done, err)
	}
	if err := errors.Join(led.Close(), s.Close()); err != nil {
		t.Error(err)
	}
}

func TestNoopHeedsItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := Noop()
	errs := map[string]error{
		"Append": s.Append(ctx, nil), "Find": second(s.Find(ctx, "x")), "Remove": second(s.Remove(ctx, posthouse.Removal{})),
		"Slot": second(s.Slot(ctx, posthouse.SlotKey{}, posthouse.SlotOp{})),
	}
	for _, err := range s.List(ctx, posthouse.Query{}) {
		errs["List"] = err
	}
	for _, err := range s.(posthouse.Watcher).Watch(ctx, "") {
		errs["Watch"] = err
	}
	for _, name := range []string{"Append", "Find", "Remove", "Slot", "List", "Watch"} {
		if !errors.Is(errs[name], context.Canceled) {
			t.Errorf("%s: got %v, want context.Canceled", name, errs[name])
		}
	}
}

func second[V any](_ V, err error) error { return err }
