package ledger_test

import (
	"bytes"
	"context"
	"errors"
	"reflect"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/crypt"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/transfer"
)

func wantChecked(t rapid.TB, s *memstore.Store) {
	t.Helper()
	for err := range s.Check(context.Background()) {
		t.Errorf("the store's own check: %v", err)
	}
}

// wantSameStores compares all that two ledgers say of their threads.
func wantSameStores(t rapid.TB, a, b *ledger.Ledger) {
	t.Helper()
	ctx := context.Background()
	for info, err := range a.Threads(ctx, posthouse.ThreadQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		other, err := b.Thread(ctx, info.Thread)
		if err != nil {
			t.Fatalf("thread %s: %v", info.Thread, err)
		}
		info.Lease.Fence, other.Lease.Fence = 0, 0 // a copy of what a deletion left starts over
		if !reflect.DeepEqual(info, other) {
			t.Errorf("the summary is %+v, want %+v", other, info)
		}
		for e, err := range a.Log(ctx, info.Thread, posthouse.Range{}) {
			if err != nil {
				t.Fatal(err)
			}
			for _, ev := range e.Events {
				if ev.Signal == nil {
					continue
				}
				want, lost := a.Store().Find(ctx, ev.Signal.ID)
				if ref, err := b.Store().Find(ctx, ev.Signal.ID); ref != want || errors.Is(err, posthouse.ErrNotFound) != errors.Is(lost, posthouse.ErrNotFound) {
					t.Errorf("signal %s is at %v (%v), want %v", ev.Signal.ID, ref, err, want)
				}
			}
		}
	}
	want := map[posthouse.ID]*posthouse.Checkpoint{}
	for h, err := range a.List(ctx, posthouse.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		want[h.ID], err = a.Get(ctx, h.ID)
		if err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	for h, err := range b.List(ctx, posthouse.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		n++
		if c, err := b.Get(ctx, h.ID); err != nil || !reflect.DeepEqual(c, want[h.ID]) {
			t.Errorf("checkpoint %s is another: %v", h.ID, err)
		}
	}
	if n != len(want) {
		t.Errorf("%d checkpoints, want %d", n, len(want))
	}
}

// TestExportImport carries random histories to another store by files, and by a
// copy of the store: everything reads the same there, also after more was
// appended and the copy was asked for again.
func TestExportImport(t *testing.T) {
	for name, c := range map[string]posthouse.Cipher{"plain": nil, "sealed": keyring(t, "k1")} {
		t.Run(name, func(t *testing.T) { exportImport(t, c) })
	}
}

func exportImport(t *testing.T, c posthouse.Cipher) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(rt, ledger.Options{Cipher: c})
		w.fill(rapid.IntRange(1, 60).Draw(rt, "n"))
		byFile, byCopy := memstore.New(), memstore.New()
		there, err := ledger.Open(byFile, &ledger.Options{Cipher: c})
		w.ok(err)
		for thread := range w.there() {
			var file, again bytes.Buffer
			out, err := transfer.Export(w.ctx, w.l, thread, &file, nil)
			w.ok(err)
			in, err := transfer.Import(w.ctx, there, bytes.NewReader(file.Bytes()), &transfer.ImportOptions{Thread: thread})
			w.ok(err)
			if !reflect.DeepEqual(in, out) {
				rt.Errorf("exported %+v, imported %+v", out, in)
			}
			_, err = transfer.Export(w.ctx, there, thread, &again, nil)
			w.ok(err)
			if !bytes.Equal(file.Bytes(), again.Bytes()) {
				rt.Errorf("thread %s: the export of the import is another file", thread)
			}
		}
		wantSameStores(rt, w.l, there)
		wantChecked(rt, byFile)

		for range 2 {
			_, err = transfer.CopyStore(w.ctx, w.store, byCopy, nil)
			if errors.Is(err, posthouse.ErrConflict) {
				break // a thread was deleted since
			}
			w.ok(err)
			copied, err := ledger.Open(byCopy, &ledger.Options{Cipher: c})
			w.ok(err)
			wantSameStores(rt, w.l, copied)
			wantChecked(rt, byCopy)
			w.fill(10)
		}
	})
}

// exported is a thread with a question, its file and its store.
func exported(t *testing.T) ([]byte, *ledger.Ledger, *memstore.Store) {
	t.Helper()
	store := memstore.New()
	l := must.Get(ledger.Open(store, nil))(t)
	askedThread(t, l)
	_, err := store.Slot(context.Background(), posthouse.SlotKey{Thread: "t", Step: "work"}, posthouse.SlotOp{Verb: posthouse.SlotPut, Value: []byte("half"), Fence: 3})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	must.Get(transfer.Export(context.Background(), l, "t", &b, nil))(t)
	return b.Bytes(), l, store
}

func wantEmpty(t *testing.T, s *memstore.Store, what string) {
	t.Helper()
	for info := range s.Threads(context.Background(), posthouse.ThreadQuery{}) {
		t.Errorf("%s: thread %s is there", what, info.Thread)
	}
	for slot := range s.Slots(context.Background(), "") {
		t.Errorf("%s: slot %v is there", what, slot.Key)
	}
}

// TestDamagedFilesImportNothing cuts a file at every byte and flips every byte:
// a typed error, and nothing in the store.
func TestDamagedFilesImportNothing(t *testing.T) {
	file, _, _ := exported(t)
	try := func(what string, data []byte) {
		t.Helper()
		store := memstore.New()
		l := must.Get(ledger.Open(store, nil))(t)
		_, err := transfer.Import(context.Background(), l, bytes.NewReader(data), nil)
		if !errors.Is(err, posthouse.ErrCorrupt) && !errors.Is(err, posthouse.ErrInvalid) && !errors.Is(err, posthouse.ErrNewer) {
			t.Errorf("%s: %v", what, err)
		}
		wantEmpty(t, store, what)
	}
	for i := range file {
		try("cut", file[:i])
		for _, bit := range []byte{1, 0x80} {
			flipped := bytes.Clone(file)
			flipped[i] ^= bit
			try("flipped", flipped)
		}
	}
	try("with more behind it", append(bytes.Clone(file), 0))
}

// TestImportIntoAnExistingThread imports where the thread, an id or a slot is in the
// way: nothing is written, what was there stays.
func TestImportIntoAnExistingThread(t *testing.T) {
	ctx := context.Background()
	file, l, _ := exported(t)
	_, err := transfer.Import(ctx, l, bytes.NewReader(file), nil)
	if !errors.Is(err, posthouse.ErrExists) {
		t.Errorf("into its own store: %v", err)
	}
	_, err = transfer.Import(ctx, l, bytes.NewReader(file), &transfer.ImportOptions{Thread: "other"})
	wantField(t, err, posthouse.ErrInvalid, "thread")

	var id posthouse.ID
	for h := range l.List(ctx, posthouse.Query{}) {
		id = h.ID
	}
	store := memstore.New()
	taken := must.Get(ledger.Open(store, nil))(t)
	c := posthouse.Root("other", opaque(t, 1))
	c.ID = id
	must.Get(taken.Save(ctx, c, nil))(t)
	_, err = transfer.Import(ctx, taken, bytes.NewReader(file), nil)
	if !errors.Is(err, posthouse.ErrExists) {
		t.Errorf("with an id that is taken: %v", err)
	}
	if _, err := taken.Thread(ctx, "t"); !errors.Is(err, posthouse.ErrNotFound) {
		t.Errorf("the thread is half there: %v", err)
	}

	store = memstore.New()
	slotted := must.Get(ledger.Open(store, nil))(t)
	key := posthouse.SlotKey{Thread: "t", Step: "mine"}
	must.Get(store.Slot(ctx, key, posthouse.SlotOp{Verb: posthouse.SlotPut, Value: []byte("mine")}))(t)
	_, err = transfer.Import(ctx, slotted, bytes.NewReader(file), nil)
	if !errors.Is(err, posthouse.ErrExists) {
		t.Errorf("with a slot in the way: %v", err)
	}
	if s := must.Get(store.Slot(ctx, key, posthouse.SlotOp{}))(t); string(s.Value) != "mine" {
		t.Errorf("the slot is now %q", s.Value)
	}
}

// failingStore fails its n-th write, and all after it if it stays dead.
type failingStore struct {
	*memstore.Store
	mu   sync.Mutex
	left int
	dead bool
}

func (s *failingStore) fails() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left--; s.left == 0 || s.left < 0 && s.dead {
		return &posthouse.Error{Code: posthouse.CodeFull, Message: "no space left"}
	}
	return nil
}

func (s *failingStore) Append(ctx context.Context, b *posthouse.Batch) error {
	if err := s.fails(); err != nil {
		return err
	}
	return s.Store.Append(ctx, b)
}

func (s *failingStore) AppendAll(ctx context.Context, bs []*posthouse.Batch) error {
	if err := s.fails(); err != nil {
		return err
	}
	return s.Store.AppendAll(ctx, bs)
}

// A oneByOne store is given one entry at a time.
type oneByOne struct {
	posthouse.Store
	posthouse.SlotLister
}

func (s *failingStore) Slot(ctx context.Context, k posthouse.SlotKey, op posthouse.SlotOp) (posthouse.Slot, error) {
	if op.Verb != posthouse.SlotGet {
		if err := s.fails(); err != nil {
			return posthouse.Slot{}, err
		}
	}
	return s.Store.Slot(ctx, k, op)
}

func (s *failingStore) Remove(ctx context.Context, r posthouse.Removal) (posthouse.Removed, error) {
	if s.dead {
		if err := s.fails(); err != nil {
			return posthouse.Removed{}, err
		}
	}
	return s.Store.Remove(ctx, r)
}

// TestFailedImports fails an import at each of its writes: what was written is
// taken back, or, if the store is dead from then on as after a kill, the same
// file goes on from there and no other does.
func TestFailedImports(t *testing.T) {
	t.Run("one by one", func(t *testing.T) {
		failImports(t, 6, func(s *failingStore) posthouse.Store { return oneByOne{s, s} })
	})
	t.Run("all at once", func(t *testing.T) {
		failImports(t, 4, func(s *failingStore) posthouse.Store { return s })
	})
}

func failImports(t *testing.T, writes int, as func(*failingStore) posthouse.Store) {
	ctx := context.Background()
	file, want, _ := exported(t)
	for n := 1; ; n++ {
		for _, dead := range []bool{false, true} {
			store := &failingStore{Store: memstore.New(), left: n, dead: dead}
			l := must.Get(ledger.Open(as(store), nil))(t)
			_, err := transfer.Import(ctx, l, bytes.NewReader(file), nil)
			if err == nil {
				if n != writes+1 {
					t.Fatalf("an import of 3 entries and a slot took %d writes, want %d", n-1, writes)
				}
				return
			}
			if !errors.Is(err, posthouse.ErrFull) {
				t.Fatalf("write %d: %v", n, err)
			}
			if !dead {
				wantEmpty(t, store.Store, "after a failure")
				continue
			}
			l = must.Get(ledger.Open(store.Store, nil))(t)
			if _, err := transfer.Import(ctx, l, bytes.NewReader(file), nil); err != nil {
				t.Fatalf("again, after a failure at write %d: %v", n, err)
			}
			wantSameStores(t, want, l)
			wantChecked(t, store.Store)
			if slots := must.Get(store.Slot(ctx, posthouse.SlotKey{Thread: "t", Step: "work"}, posthouse.SlotOp{}))(t); slots.Fence != 3 {
				t.Errorf("the slot came with fence %d", slots.Fence)
			}
		}
	}
}

// TestInterruptedCopies stops a copy at each of its writes and asks again.
func TestInterruptedCopies(t *testing.T) {
	ctx := context.Background()
	_, l, from := exported(t)
	must.Get(l.Save(ctx, posthouse.Root("u", opaque(t, 1)), nil))(t)
	must.Get(from.Slot(ctx, posthouse.SlotKey{Thread: "$sessions", Step: "s"}, posthouse.SlotOp{Verb: posthouse.SlotPut, Value: []byte("x")}))(t)
	if err := l.Core().Heartbeat(ctx); err != nil {
		t.Fatal(err)
	}
	for n := 1; ; n++ {
		to := &failingStore{Store: memstore.New(), left: n}
		_, err := transfer.CopyStore(ctx, from, to, nil)
		if err == nil {
			break
		}
		if !errors.Is(err, posthouse.ErrFull) {
			t.Fatalf("write %d: %v", n, err)
		}
		done, err := transfer.CopyStore(ctx, from, to, &transfer.CopyStoreOptions{Progress: func(*transfer.StoreCopied) {}})
		if err != nil || done.Threads != 2 || done.Verified != 2 || done.Entries+done.Skipped != 4 {
			t.Errorf("again, after a failure at write %d: %+v, %v", n, done, err)
		}
		copied := must.Get(ledger.Open(to.Store, nil))(t)
		wantSameStores(t, l, copied)
		must.Get(to.Store.Slot(ctx, posthouse.SlotKey{Thread: "$sessions", Step: "s"}, posthouse.SlotOp{}))(t)
		for s := range to.Store.Slots(ctx, posthouse.ProcessThread) {
			t.Errorf("a process's slot was copied: %v", s.Key)
		}
	}
	other := memstore.New()
	taken := must.Get(ledger.Open(other, nil))(t)
	must.Get(taken.Save(ctx, posthouse.Root("t", opaque(t, "another")), nil))(t)
	if _, err := transfer.CopyStore(ctx, from, other, nil); !errors.Is(err, posthouse.ErrConflict) {
		t.Errorf("into a store with another log of that name: %v", err)
	}
}

// FuzzImport hands anything to the parser of thread files.
func FuzzImport(f *testing.F) {
	store := memstore.New()
	l, err := ledger.Open(store, nil)
	if err != nil {
		f.Fatal(err)
	}
	ctx := context.Background()
	for _, text := range []string{"one", "two"} {
		c, err := posthouse.Opaque(nil, text)
		if err != nil {
			f.Fatal(err)
		}
		if _, err := l.Save(ctx, posthouse.Root("t", c), nil); err != nil {
			f.Fatal(err)
		}
	}
	var file bytes.Buffer
	if _, err := transfer.Export(ctx, l, "t", &file, nil); err != nil {
		f.Fatal(err)
	}
	f.Add(file.Bytes())
	f.Add([]byte("posthouse-thread/1\n\x01t\x02\xff\xff\xff\xff\x03"))
	f.Fuzz(func(t *testing.T, data []byte) {
		store := memstore.New()
		l := must.Get(ledger.Open(store, nil))(t)
		in, err := transfer.Import(ctx, l, bytes.NewReader(data), nil)
		if err != nil {
			wantEmpty(t, store, "after a refusal")
			return
		}
		var again bytes.Buffer
		must.Get(transfer.Export(ctx, l, in.Thread, &again, nil))(t)
		if !bytes.Equal(again.Bytes(), data) {
			t.Error("one thread has two files")
		}
	})
}

// TestCopyPassesDamageOver: what is damaged does not keep the rest from being
// copied, so a backup takes what came after it from a store that was damaged.
func TestCopyPassesDamageOver(t *testing.T) {
	ctx := context.Background()
	from := memstore.New()
	l := must.Get(ledger.Open(from, nil))(t)
	heads := map[string]*posthouse.Checkpoint{}
	for _, thread := range []string{"a", "b", "c", "deleted", "anew"} {
		heads[thread] = must.Get(l.Save(ctx, posthouse.Root(thread, opaque(t, 1)), nil))(t)
	}
	backup := memstore.New()
	must.Get(transfer.CopyStore(ctx, from, backup, nil))(t)
	for _, thread := range []string{"a", "b", "new"} {
		c := posthouse.Root(thread, opaque(t, 2))
		if h := heads[thread]; h != nil {
			c = h.Derive(opaque(t, 2))
		}
		must.Get(l.Save(ctx, c, nil))(t)
	}
	for _, thread := range []string{"deleted", "anew"} {
		must.Get(retain.DeleteThread(ctx, l, thread, nil))(t)
	}
	must.Get(l.Save(ctx, posthouse.Root("anew", opaque(t, 3)), nil))(t)
	bad := &tampered{from, func(e *posthouse.Entry) {
		if e.Thread == "b" && e.Seq == 1 {
			e.Header[len(e.Header)/2] ^= 1
		}
	}}
	done, err := transfer.CopyStore(ctx, bad, backup, &transfer.CopyStoreOptions{Concurrency: 1})
	if !errors.Is(err, posthouse.ErrCorrupt) || !strings.Contains(err.Error(), `"b"`) || done.Threads != 3 || done.Entries != 2 {
		t.Errorf("the copy says %+v, %v; want 3 threads, 2 entries, and the damage of b", done, err)
	}
	for _, thread := range []string{"deleted", "anew"} {
		if !errors.Is(err, posthouse.ErrConflict) || !strings.Contains(err.Error(), "thread "+thread+" has entries in the target that were deleted in the source") {
			t.Errorf("the copy does not say that %s was deleted: %v", thread, err)
		}
	}
	restored := must.Get(ledger.Open(backup, nil))(t)
	for thread, want := range map[string]uint64{"a": 2, "b": 1, "c": 1, "new": 1, "deleted": 1, "anew": 1} {
		if info := must.Get(restored.Thread(ctx, thread))(t); info.Tail.Seq != want {
			t.Errorf("thread %s ends at entry %d, want %d", thread, info.Tail.Seq, want)
		}
		must.Get(restored.Latest(ctx, ledger.LatestQuery{Thread: thread}))(t)
	}
}

// TestSealedThreadsTravel exports a thread with encrypted states: its key goes
// along, wrapped, so that only an owner of the wrapping key reads it elsewhere.
func TestSealedThreadsTravel(t *testing.T) {
	ctx := context.Background()
	keys := func(b byte) *crypt.Keyring {
		return must.Get(crypt.NewKeyring(map[string][]byte{"k1": bytes.Repeat([]byte{b}, 32)}, "k1"))(t)
	}
	l := open(t, &ledger.Options{Cipher: keys(7)})
	c := must.Get(l.Save(ctx, posthouse.Root("t", opaque(t, "a secret")), nil))(t)
	must.Get(l.Release(ctx, "t", nil))(t)
	d := must.Get(l.Save(ctx, posthouse.Root("t", opaque(t, "another secret")), nil))(t)
	var file bytes.Buffer
	must.Get(transfer.Export(ctx, l, "t", &file, nil))(t)
	if bytes.Contains(file.Bytes(), []byte("secret")) {
		t.Error("the file has the state in the clear")
	}
	there := open(t, &ledger.Options{Cipher: keys(7)})
	must.Get(transfer.Import(ctx, there, bytes.NewReader(file.Bytes()), nil))(t)
	for _, want := range []*posthouse.Checkpoint{c, d} {
		if got := must.Get(there.Get(ctx, want.ID))(t); text(got) != text(want) {
			t.Errorf("imported: %s", text(got))
		}
	}
	stranger := open(t, &ledger.Options{Cipher: keys(8)})
	must.Get(transfer.Import(ctx, stranger, bytes.NewReader(file.Bytes()), nil))(t)
	if _, err := stranger.Get(ctx, d.ID); err == nil {
		t.Error("it opens without the key")
	}
}
