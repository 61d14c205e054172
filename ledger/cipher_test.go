package ledger_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/crypt"
	"github.com/posthouse/posthouse/internal/encryption"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/transfer"
)

// key returns the test key of an id.
func key(id string) []byte {
	k := make([]byte, 32)
	copy(k, "the test key named "+id)
	return k
}

// keyring returns a ring of test keys; the first is the current one.
func keyring(t testing.TB, ids ...string) *crypt.Keyring {
	t.Helper()
	keys := map[string][]byte{}
	for _, id := range ids {
		keys[id] = key(id)
	}
	return must.Get(crypt.NewKeyring(keys, ids[0]))(t)
}

// over returns a Ledger over the store with a cipher.
func over(t testing.TB, s posthouse.Store, c posthouse.Cipher) *ledger.Ledger {
	t.Helper()
	return must.Get(ledger.Open(s, &ledger.Options{Cipher: c}))(t)
}

func TestKeyringRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		keys    map[string][]byte
		current string
	}{
		"no keys":        {nil, "a"},
		"no current":     {map[string][]byte{"a": key("a")}, ""},
		"another":        {map[string][]byte{"a": key("a")}, "b"},
		"a short key":    {map[string][]byte{"a": key("a")[:16]}, "a"},
		"a key of zeros": {map[string][]byte{"a": make([]byte, 32)}, "a"},
		"an empty id":    {map[string][]byte{"": key("a")}, ""},
		"a long id":      {map[string][]byte{strings.Repeat("a", 201): key("a")}, "a"},
		"a control code": {map[string][]byte{"a\n": key("a")}, "a\n"},
	} {
		if r, err := crypt.NewKeyring(c.keys, c.current); !errors.Is(err, posthouse.ErrInvalid) || r != nil {
			t.Errorf("%s: %v, want ErrInvalid", name, err)
		}
	}
}

// TestSealedThreadAnswersLikeAPlainOne asks everything there is to ask of a
// thread with every kind of record, of the Ledger that wrote it and of others
// that know nothing of it but the key.
func TestSealedThreadAnswersLikeAPlainOne(t *testing.T) {
	s := memstore.New()
	l := over(t, s, keyring(t, "k1"))
	busyThread(t, l)
	want := must.Get(readAll(l))(t)
	if got := must.Get(readAll(over(t, s, keyring(t, "k2", "k1"))))(t); got != want {
		t.Errorf("another process reads %d bytes, want %d", len(got), len(want))
	}
	if _, err := readAll(over(t, s, nil)); !errors.Is(err, posthouse.ErrSealed) {
		t.Errorf("without keys: %v, want ErrSealed", err)
	}
	if _, err := readAll(over(t, &tampered{s, func(e *posthouse.Entry) {
		for _, b := range e.Bodies {
			if len(b) > 0 {
				b[len(b)-1] ^= 1
			}
		}
	}}, keyring(t, "k1"))); !errors.Is(err, posthouse.ErrCorrupt) {
		t.Errorf("flipped bits: %v, want ErrCorrupt", err)
	}
}

// TestTamperedDataKeys changes what is kept of a thread's data key: nothing
// opens, nothing is written, and no new key takes its place.
func TestTamperedDataKeys(t *testing.T) {
	ctx := context.Background()
	slot := func(thread string) posthouse.SlotKey { return posthouse.SlotKey{Thread: thread, Step: "$key-1"} }
	put := func(s posthouse.Store, thread string, value []byte) {
		t.Helper()
		op := posthouse.SlotOp{Verb: posthouse.SlotPut, Value: value, Revision: posthouse.AnyRevision}
		if value == nil {
			op.Verb = posthouse.SlotDelete
		}
		must.Get(s.Slot(ctx, slot(thread), op))(t)
	}
	get := func(s posthouse.Store, thread string) []byte {
		t.Helper()
		return must.Get(s.Slot(ctx, slot(thread), posthouse.SlotOp{}))(t).Value
	}
	change := func(value []byte, f func(map[string]any)) []byte {
		m := map[string]any{}
		if err := json.Unmarshal(value, &m); err != nil {
			t.Fatal(err)
		}
		f(m)
		return must.Get(json.Marshal(m))(t)
	}
	for name, c := range map[string]struct {
		tamper func(posthouse.Store)
		names  string // what the message must name
	}{
		"a changed byte": {func(s posthouse.Store) {
			put(s, "t", change(get(s, "t"), func(m map[string]any) {
				was, first := m["wrapped"].(string), "A"
				if strings.HasPrefix(was, first) {
					first = "B"
				}
				m["wrapped"] = first + was[1:]
			}))
		}, `key "k1"`},
		"swapped with another thread's": {func(s posthouse.Store) {
			a, b := get(s, "t"), get(s, "u")
			put(s, "t", b)
			put(s, "u", a)
		}, `key "k1"`},
		"said to be wrapped with another key": {func(s posthouse.Store) {
			put(s, "t", change(get(s, "t"), func(m map[string]any) { m["key"] = "k2" }))
		}, `key "k2"`},
		"said to be wrapped with an unknown key": {func(s posthouse.Store) {
			put(s, "t", change(get(s, "t"), func(m map[string]any) { m["key"] = "k9" }))
		}, `key "k9"`},
		"cut off": {func(s posthouse.Store) {
			put(s, "t", change(get(s, "t"), func(m map[string]any) { m["wrapped"] = "" }))
		}, `key "k1"`},
		"garbage":          {func(s posthouse.Store) { put(s, "t", []byte("garbage")) }, "does not decode"},
		"a format to come": {func(s posthouse.Store) { put(s, "t", change(get(s, "t"), func(m map[string]any) { m["format"] = 2 })) }, "does not decode"},
		"gone":             {func(s posthouse.Store) { put(s, "t", nil) }, "is not in the store"},
	} {
		s := memstore.New()
		l := over(t, s, keyring(t, "k1", "k2"))
		c0 := must.Get(l.Save(ctx, posthouse.Root("t", opaque(t, "secret")), nil))(t)
		must.Get(l.Save(ctx, posthouse.Root("u", opaque(t, "other")), nil))(t)
		c.tamper(s)
		l = over(t, s, keyring(t, "k1", "k2"))
		told := func(what string, err error) {
			t.Helper()
			var e *posthouse.Error
			if !errors.Is(err, posthouse.ErrSealed) || !errors.As(err, &e) || e.Hint == "" || !strings.Contains(err.Error(), c.names) || !strings.Contains(err.Error(), `thread "t"`) {
				t.Errorf("%s: %s: %v, want ErrSealed with %s and a hint", name, what, err, c.names)
			}
		}
		_, err := l.Get(ctx, c0.ID)
		told("get", err)
		_, err = l.Save(ctx, posthouse.Root("t", opaque(t, "more")), nil)
		told("save", err)
		if info := must.Get(l.Thread(ctx, "t"))(t); info.Tail.Seq != 1 {
			t.Errorf("%s: the log went on to entry %d", name, info.Tail.Seq)
		}
	}
}

// stopping is a store that stops at its n-th write to a slot: before it took
// effect, or just after.
type stopping struct {
	posthouse.Store
	n     int
	after bool
}

var errKilled = errors.New("killed")

func (s *stopping) Slot(ctx context.Context, k posthouse.SlotKey, op posthouse.SlotOp) (posthouse.Slot, error) {
	if op.Verb == posthouse.SlotGet {
		return s.Store.Slot(ctx, k, op)
	}
	s.n--
	if s.n > 0 {
		return s.Store.Slot(ctx, k, op)
	}
	if s.after && s.n == 0 {
		_, _ = s.Store.Slot(ctx, k, op) // its answer is lost
	}
	return posthouse.Slot{}, errKilled
}

// TestRewrapKilledAtAnyPoint stops the rotation at every write, before and
// after it took effect. Everything reads with both keys at all times; begun
// again it comes to its end, and then the old key can go.
func TestRewrapKilledAtAnyPoint(t *testing.T) {
	ctx := context.Background()
	const threads = 7
	for n := 1; n <= threads; n++ {
		for _, after := range []bool{false, true} {
			s := memstore.New()
			old := over(t, s, keyring(t, "k1"))
			var ids []posthouse.ID
			for i := range threads {
				c := must.Get(old.Save(ctx, posthouse.Root(fmt.Sprint("t", i), opaque(t, i)), nil))(t)
				ids = append(ids, c.ID)
			}
			reads := func(when string, c posthouse.Cipher) {
				t.Helper()
				l := over(t, s, c)
				for i, id := range ids {
					if got := text(must.Get(l.Get(ctx, id))(t)); got != fmt.Sprint(i) {
						t.Fatalf("kill %d, after %v: %s: thread %d holds %q", n, after, when, i, got)
					}
				}
			}
			both := keyring(t, "k2", "k1")
			if _, err := crypt.Rewrap(ctx, over(t, &stopping{s, n, after}, both)); !errors.Is(err, errKilled) {
				t.Fatalf("kill %d: %v", n, err)
			}
			reads("killed", both)
			use := must.Get(crypt.KeyUse(ctx, over(t, s, nil)))(t)
			if want := threads - n + 1; use["k1"] != want && !(after && use["k1"] == want-1) {
				t.Errorf("kill %d, after %v: keys in use %v", n, after, use)
			}
			done := must.Get(crypt.Rewrap(ctx, over(t, s, both)))(t)
			if done.Keys+done.Current != threads || done.Keys != use["k1"] || done.Failed != 0 {
				t.Errorf("kill %d, after %v: begun again: %+v", n, after, done)
			}
			reads("rotated, the old key removed", keyring(t, "k2"))
		}
	}
}

// TestRewrapWhileInUse rotates while the thread is being written to.
func TestRewrapWhileInUse(t *testing.T) {
	ctx, s := context.Background(), memstore.New()
	l := over(t, s, keyring(t, "k1"))
	first := must.Get(l.Save(ctx, posthouse.Root("t", opaque(t, 0)), nil))(t)
	written := make(chan error, 1)
	go func() {
		c := first
		var err error
		for i := 1; i < 200 && err == nil; i++ {
			c, err = l.Save(ctx, c.Derive(opaque(t, i)), nil)
		}
		written <- err
	}()
	for i := range 50 {
		ids := []string{"k1", "k2"}
		if i%2 == 0 {
			ids = []string{"k2", "k1"}
		}
		if done := must.Get(crypt.Rewrap(ctx, over(t, s, keyring(t, ids...))))(t); done.Keys != 1 {
			t.Fatalf("pass %d: %+v", i, done)
		}
	}
	if err := <-written; err != nil {
		t.Fatal(err)
	}
	head := must.Get(over(t, s, keyring(t, "k1")).Latest(ctx, ledger.LatestQuery{Thread: "t"}))(t)
	if text(head) != "199" {
		t.Errorf("the head is %q", text(head))
	}
}

// TestRewrapGoesOnAfterAFault leaves a data key that does not unwrap as it is
// and wraps the others.
func TestRewrapGoesOnAfterAFault(t *testing.T) {
	ctx, s := context.Background(), memstore.New()
	for i, id := range []string{"lost", "k1", "k1"} {
		l := over(t, s, keyring(t, id))
		must.Get(l.Save(ctx, posthouse.Root(fmt.Sprint("t", i), opaque(t, i)), nil))(t)
	}
	done, err := crypt.Rewrap(ctx, over(t, s, keyring(t, "k2", "k1")))
	if !errors.Is(err, posthouse.ErrSealed) || !strings.Contains(err.Error(), `"lost"`) || done.Keys != 2 || done.Failed != 1 {
		t.Errorf("done %+v, error %v", done, err)
	}
	if _, err := crypt.Rewrap(ctx, over(t, s, nil)); !errors.Is(err, posthouse.ErrUnsupported) {
		t.Errorf("without a cipher: %v", err)
	}
}

// A kms is a Cipher that is far away.
type kms struct {
	*crypt.Keyring
	err   error
	calls int
}

func (k *kms) Wrap(ctx context.Context, id string, dataKey, binding []byte) ([]byte, error) {
	if k.calls++; k.err != nil {
		return nil, k.err
	}
	return k.Keyring.Wrap(ctx, id, dataKey, binding)
}

func (k *kms) Unwrap(ctx context.Context, id string, wrapped, binding []byte) ([]byte, error) {
	k.calls++
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if k.err != nil {
		return nil, k.err
	}
	return k.Keyring.Unwrap(ctx, id, wrapped, binding)
}

// TestKeyService asks the service once a thread, tells its failure with its
// cause, and goes on once it answers again.
func TestKeyService(t *testing.T) {
	ctx, s := context.Background(), memstore.New()
	service := &kms{Keyring: keyring(t, "k1")}
	l := over(t, s, service)
	c := must.Get(l.Save(ctx, posthouse.Root("t", opaque(t, 0)), nil))(t)
	for i := range 20 {
		c = must.Get(l.Save(ctx, c.Derive(opaque(t, i)), nil))(t)
	}
	if service.calls > 2 {
		t.Errorf("%d calls for 21 checkpoints of a thread", service.calls)
	}
	down := errors.New("connection refused")
	service.err = down
	l = over(t, s, service)
	for what, err := range map[string]error{
		"get":  second(l.Get(ctx, c.ID)),
		"save": second(l.Save(ctx, posthouse.Root("new", opaque(t, 0)), nil)),
	} {
		if !errors.Is(err, posthouse.ErrSealed) || !errors.Is(err, down) || !strings.Contains(err.Error(), `"k1"`) {
			t.Errorf("%s: %v", what, err)
		}
	}
	stopped, stop := context.WithCancel(ctx)
	stop()
	if _, err := l.Get(stopped, c.ID); !errors.Is(err, context.Canceled) || errors.Is(err, posthouse.ErrSealed) {
		t.Errorf("cancelled: %v", err)
	}
	service.err = nil
	if got := must.Get(l.Get(ctx, c.ID))(t); text(got) != "19" {
		t.Errorf("afterwards: %q", text(got))
	}
	must.Get(l.Save(ctx, posthouse.Root("new", opaque(t, 0)), nil))(t)
}

func second[T any](_ T, err error) error { return err }

// TestTwoProcessesMakeOneDataKey begins a thread twice at once.
func TestTwoProcessesMakeOneDataKey(t *testing.T) {
	ctx := context.Background()
	for range 50 {
		s := memstore.New()
		steps := func(l *ledger.Ledger, name string, done chan<- error) {
			_, err := l.Commit(ctx, &ledger.Draft{Thread: "t", Steps: []posthouse.Step{
				{Task: "1/n", Name: name, Value: posthouse.Value{Codec: "raw", Data: []byte(name)}},
			}})
			done <- err
		}
		done := make(chan error)
		for _, name := range []string{"a", "b", "c"} {
			go steps(over(t, s, keyring(t, "k1")), name, done)
		}
		for range 3 {
			if err := <-done; err != nil {
				t.Fatal(err)
			}
		}
		l := over(t, s, keyring(t, "k1"))
		c := must.Get(l.Save(ctx, posthouse.Root("t", opaque(t, 0)), nil))(t)
		if x := must.Get(executionOf(ctx, l, &c.Header, "1/n"))(t); len(x.Steps) > 3 {
			t.Fatalf("%d steps", len(x.Steps))
		}
	}
}

// TestEncryptionStatus checks that what protects a store can be asked.
func TestEncryptionStatus(t *testing.T) {
	signer := newSigner(t)
	l := must.Get(ledger.Open(memstore.New(), &ledger.Options{Cipher: keyring(t, "k7"), Signer: signer}))(t)
	if p := l.EncryptionStatus(); p != (ledger.EncryptionStatus{EncryptsAtRest: true, EncryptionKey: "k7", Signs: true, SigningKey: signer.KeyID()}) || !l.EncryptionStatus().EncryptsAtRest {
		t.Errorf("%+v", p)
	}
	if p := open(t, nil).EncryptionStatus(); p != (ledger.EncryptionStatus{}) {
		t.Errorf("without keys: %+v", p)
	}
}

// TestWatchSkipsEntriesWithoutTheirKey: a watcher that read an entry before its
// thread was deleted, and asks for the key after, goes on.
func TestWatchSkipsEntriesWithoutTheirKey(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s := memstore.New()
	l := over(t, s, keyring(t, "k1"))
	w := must.Get(l.Commit(ctx, &ledger.Draft{Thread: "t", Gates: []posthouse.Gate{{Name: "g", Payload: []byte(`"x"`)}},
		Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, State: opaque(t, 0)}}))(t)
	var old []*posthouse.Entry
	for e, err := range s.Read(ctx, "t", posthouse.Range{}) {
		if err != nil {
			t.Fatal(err)
		}
		old = append(old, e)
	}
	must.Get(retain.DeleteThread(ctx, l, "t", nil))(t)
	u := must.Get(l.Save(ctx, posthouse.Root("u", opaque(t, 1)), nil))(t)
	for ev, err := range over(t, &late{s, old}, keyring(t, "k1")).Watch(ctx, ledger.WatchQuery{}) {
		if err != nil {
			t.Fatalf("the watch ends: %v", err)
		}
		if ev.Gate != nil && bytes.Contains(ev.Gate.Payload, []byte("x")) {
			t.Errorf("gate %s of the deleted thread is shown", w.Gates[0].ID)
		}
		if ev.Checkpoint != nil && ev.Checkpoint.ID == u.ID {
			return
		}
	}
}

// A late store's watchers see entries that are gone by now.
type late struct {
	*memstore.Store
	old []*posthouse.Entry
}

func (s *late) Watch(ctx context.Context, cursor string) iter.Seq2[*posthouse.Entry, error] {
	return func(yield func(*posthouse.Entry, error) bool) {
		for _, e := range s.old {
			if !yield(e, nil) {
				return
			}
		}
		s.Store.Watch(ctx, cursor)(yield)
	}
}

// A slotless store cannot list its slots.
type slotless struct{ posthouse.Store }

// TestExportTakesDataKeysAlong exports a sealed thread in its second generation
// from a store that cannot list its slots.
func TestExportTakesDataKeysAlong(t *testing.T) {
	ctx, s := context.Background(), memstore.New()
	l := over(t, slotless{s}, keyring(t, "k1"))
	must.Get(l.Save(ctx, posthouse.Root("t", opaque(t, 0)), nil))(t)
	must.Get(retain.DeleteThread(ctx, l, "t", nil))(t)
	c := must.Get(l.Save(ctx, posthouse.Root("t", opaque(t, 1)), nil))(t)
	var file bytes.Buffer
	must.Get(transfer.Export(ctx, l, "t", &file, nil))(t)
	there := over(t, slotless{memstore.New()}, keyring(t, "k1"))
	must.Get(transfer.Import(ctx, there, bytes.NewReader(file.Bytes()), nil))(t)
	if got := must.Get(there.Get(ctx, c.ID))(t); text(got) != "1" {
		t.Errorf("it reads %q", text(got))
	}
}

// TestSealedSlotsOpenInTheirPlaceOnly: what a thread's slot holds opens in that slot of that thread, and
// a form to come is refused as such.
func TestSealedSlotsOpenInTheirPlaceOnly(t *testing.T) {
	ctx, l := t.Context(), over(t, memstore.New(), keyring(t, "k1"))
	for _, thread := range []string{"t", "u"} {
		must.Get(l.Save(ctx, posthouse.Root(thread, opaque(t, 0)), nil))(t)
	}
	vault, of := l.Core().Vault, encryption.DataKeyOf{Thread: "t", Generation: 1}
	sealed := must.Get(vault.SealSlot(ctx, of, "1/fetch", []byte("secret")))(t)
	if bytes.Contains(sealed, []byte("secret")) {
		t.Error("the slot says what is in it")
	}
	if v := must.Get(vault.OpenSlot(ctx, of, "1/fetch", sealed))(t); string(v) != "secret" {
		t.Errorf("it opens as %q", v)
	}
	flipped := bytes.Clone(sealed)
	flipped[len(flipped)/2] ^= 1
	for _, c := range []struct {
		of     encryption.DataKeyOf
		step   string
		sealed []byte
		want   error
	}{
		{of, "1/other", sealed, posthouse.ErrCorrupt},
		{encryption.DataKeyOf{Thread: "u", Generation: 1}, "1/fetch", sealed, posthouse.ErrCorrupt},
		{of, "1/fetch", flipped, posthouse.ErrCorrupt},
		{of, "1/fetch", append([]byte{9}, sealed[1:]...), posthouse.ErrNewer},
		{of, "1/fetch", nil, posthouse.ErrNewer},
	} {
		if v, err := vault.OpenSlot(ctx, c.of, c.step, c.sealed); !errors.Is(err, c.want) {
			t.Errorf("%x in slot %s of %s: %q, %v, want %v", c.sealed, c.step, c.of.Thread, v, err, c.want)
		}
	}
}
