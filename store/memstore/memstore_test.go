package memstore

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/store/storetest"
)

func TestOrderedKeepsItsOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := ordered[int]{cmp: cmp.Compare[int]}
		var want []int
		many := rapid.IntRange(0, 3*blockSize).Draw(t, "at once")
		for i := range many { // fill some blocks first
			o.add(i * 10)
			want = append(want, i*10)
		}
		for _, v := range rapid.SliceOf(rapid.IntRange(-5, 35*blockSize)).Draw(t, "items") {
			i, there := slices.BinarySearch(want, v)
			if o.remove(v) != there {
				t.Fatalf("remove(%d): want %v", v, there)
			}
			if there {
				want = slices.Delete(want, i, i+1)
			} else {
				o.add(v)
				want = slices.Insert(want, i, v)
			}
		}
		from := rapid.IntRange(-10, 40*blockSize).Draw(t, "from")
		at, _ := slices.BinarySearch(want, from)
		var up, down []int
		for v := range o.from(func(v int) bool { return v >= from }, false).all() {
			if up = append(up, v); len(up) == 600 {
				break
			}
		}
		for v := range o.from(func(v int) bool { return v < from }, true).all() {
			if down = append(down, v); len(down) == 600 {
				break
			}
		}
		if w := want[at:]; !slices.Equal(up, w[:min(len(w), 600)]) {
			t.Fatalf("ascending from %d: got %v", from, up)
		}
		w := slices.Clone(want[:at])
		slices.Reverse(w)
		if !slices.Equal(down, w[:min(len(w), 600)]) {
			t.Fatalf("descending from %d: got %v", from, down)
		}
		for _, b := range o.blocks {
			if len(b) == 0 || len(b) > blockSize {
				t.Fatalf("a block of %d", len(b))
			}
		}
	})
}

func TestOrderedFillsItsBlocksWhenAppendedTo(t *testing.T) {
	o := ordered[int]{cmp: cmp.Compare[int]}
	for i := range 4 * blockSize {
		o.add(i)
	}
	if len(o.blocks) != 4 {
		t.Errorf("%d items in order take %d blocks, want 4", 4*blockSize, len(o.blocks))
	}
}

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

func TestCheckNamesWhatDiffers(t *testing.T) {
	for name, spoil := range map[string]func(*Store, *thread){
		"a flipped bit in a body":      func(_ *Store, th *thread) { th.entries[1].Bodies[0][0] ^= 1 },
		"a flipped bit in a header":    func(_ *Store, th *thread) { th.entries[1].Header[3] ^= 1 },
		"a missing entry":              func(_ *Store, th *thread) { th.entries = slices.Delete(th.entries, 1, 2) },
		"a missing tail":               func(_ *Store, th *thread) { th.entries = th.entries[:2] },
		"a summary that says too much": func(_ *Store, th *thread) { th.info.Checkpoints++ },
		"an index that leads astray": func(s *Store, th *thread) {
			th.entries[1].ids = append(th.entries[1].ids, "x")
			s.ids["x"] = place{th, 2, nil}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := filled(t)
			for err := range s.Check(t.Context()) {
				t.Errorf("before: %v", err)
			}
			spoil(s, s.threads["t1"])
			n := 0
			for err := range s.Check(t.Context()) {
				n++
				if !errors.Is(err, posthouse.ErrCorrupt) {
					t.Errorf("got %v, want code corrupt", err)
				}
			}
			if n == 0 {
				t.Error("nothing was found")
			}
			for range s.Check(t.Context()) {
				break // may be left early
			}
		})
	}
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

func TestRemovalLetsGoOfMemory(t *testing.T) {
	s, _ := filled(t)
	if _, err := s.Remove(t.Context(), posthouse.Removal{Thread: "t1", All: true}); err != nil {
		t.Fatal(err)
	}
	if n := len(s.commits) + len(s.ids) + len(s.threads) + len(s.rows.blocks) + len(s.coords) + len(s.names.blocks) + len(s.active.blocks); n != 0 {
		t.Errorf("%d things are left", n)
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
	if out, err = led.Save(ctx, out.Derive(out.State), nil); err != nil {
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
