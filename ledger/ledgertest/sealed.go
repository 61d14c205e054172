package ledgertest

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/crypt"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/retain"
)

// ledgerSealedCases are about a Ledger with a cipher, whatever the harness has.
func ledgerSealedCases() []Case {
	return []Case{
		{Name: "ledger/with a cipher nothing is stored in the clear", Rule: "State, metadata, gates, decisions, signals and step results are in no entry, summary or slot of the store, and come back whole.", Run: ledgerSealsAll},
		{Name: "ledger/without the right key nothing opens", Rule: "No cipher, a ring without the key and another key of that name fail with ErrSealed, for reads and writes alike, and change nothing.", Run: ledgerWrongKeys},
		{Name: "ledger/plain records of before stay readable", Rule: "A thread that was begun in the clear goes on sealed; what is on record is read either way, and deltas reach across.", Run: ledgerPlainBefore},
		{Name: "ledger/keys rotate without touching an entry", Rule: "After Rewrap the old key can go, for released generations too; no entry changes, and other threads' new keys are wrapped by the new one.", Run: ledgerRotates},
		{Name: "ledger/a deleted thread's key goes with it", Rule: "Deleting a thread destroys its data key; the next generation has another.", Run: ledgerShreds},
		{Name: "ledger/a store once encrypted takes nothing in the clear", Rule: "However many plain threads stand in front, a Ledger without keys is refused with ErrSealed for any thread and writes nothing, until somebody puts on record that it may.", Run: ledgerOnceEncrypted},
		{Name: "ledger/an encrypted store without a mark is found out", Rule: "A store of a version that kept no mark is looked through whole, once, and marked.", Run: ledgerFindsEncryption},
		{Name: "ledger/forks and copies are sealed for their own place", Rule: "A fork into another thread opens with that thread's key alone.", Run: ledgerSealedForks},
	}
}

// ring returns test keys; the first named is the current one.
func (t *T) ring(ids ...string) *crypt.Keyring {
	t.Helper()
	keys := map[string][]byte{}
	for _, id := range ids {
		k := make([]byte, 32)
		copy(k, "test key "+id)
		keys[id] = k
	}
	r, err := crypt.NewKeyring(keys, ids[0])
	t.OK(err)
	return r
}

// secret is in everything that a sealed thread of the cases holds.
const secret = "sesame-4711"

// sealedThread puts the secret wherever one can be.
func (d *desk) sealedThread(thread string) *posthouse.Committed {
	d.Helper()
	long := strings.Repeat(secret+" ", 40)
	_, err := d.Commit(d.ctx, &ledger.Draft{Thread: thread, Steps: []posthouse.Step{
		{Task: "2/n", Name: "s", Value: posthouse.Value{Codec: "raw", Data: []byte(long)}},
	}})
	d.OK(err)
	first, err := d.Commit(d.ctx, &ledger.Draft{Thread: thread, Checkpoint: &posthouse.Change{
		Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, Metadata: map[string]string{"who": secret},
		State: posthouse.State{"a": {Codec: "raw", Data: []byte(secret)}, "b": {Codec: "raw", Data: []byte("x" + long)}},
	}, Gates: []posthouse.Gate{{Name: "g", Payload: []byte(`"` + secret + `"`)}, {Name: "h", Payload: []byte(`["` + secret + `"]`)}}})
	d.OK(err)
	_, err = d.Decide(d.ctx, first.Gates[0].ID, posthouse.Decision{Verdict: posthouse.Edit, By: "ann", Reason: secret, Value: []byte(`"` + secret + `"`)})
	d.OK(err)
	_, err = d.Signal(d.ctx, thread, posthouse.Signal{Name: "note", By: "ann", Value: []byte(`"` + secret + `"`)})
	d.OK(err)
	return first
}

// inClear names the places of a thread where the secret can be read.
func (t *T) inClear(thread string) (found []string) {
	t.Helper()
	for e, err := range t.Store.Read(t.ctx, thread, posthouse.Range{}) {
		t.OK(err)
		for i, b := range append(e.Bodies, e.Header) {
			if bytes.Contains(b, []byte(secret)) {
				found = append(found, fmt.Sprintf("entry %d, %d", e.Seq, i))
			}
		}
	}
	for info, err := range t.Store.Threads(t.ctx, posthouse.ThreadQuery{Thread: thread}) {
		t.OK(err)
		data, err := info.MarshalBinary()
		t.OK(err)
		if bytes.Contains(data, []byte(secret)) {
			found = append(found, "the summary")
		}
	}
	return found
}

func ledgerSealsAll(t *T) {
	plain, err := ledger.Open(t.Store, nil)
	t.OK(err)
	(&desk{T: t, Ledger: plain}).sealedThread("plain")
	if n := len(t.inClear("plain")); n != 6 {
		t.Fatalf("without a cipher the secret is found in %d places, so that not finding it would say nothing", n)
	}
	d := t.desk(ledger.Options{Cipher: t.ring("k1")})
	w := d.sealedThread("t")
	if found := t.inClear("t"); len(found) > 0 {
		t.Errorf("in the clear: %v", found)
	}
	again := t.desk(ledger.Options{Cipher: t.ring("k1")})
	c := again.get(w.Checkpoint.ID)
	if string(c.State["a"].Data) != secret || len(c.State["b"].Data) != 1+40*12 || c.Metadata["who"] != secret || c.Size != len(secret)+1+40*12 {
		t.Errorf("it comes back as %+v", c)
	}
	g, err := again.Gate(t.ctx, w.Gates[0].ID)
	t.OK(err)
	if string(g.Payload) != `"`+secret+`"` || g.Decision == nil || g.Decision.Reason != secret {
		t.Errorf("the gate comes back as %+v", g)
	}
	x, err := again.Core().Execution(t.ctx, &c.Header, "2/n")
	t.OK(err)
	if len(x.Steps) != 1 || !strings.HasPrefix(string(x.Steps[0].Value.Data), secret) {
		t.Errorf("on record: %+v", x.Steps)
	}
	n := 0
	for e, err := range again.Log(t.ctx, "t", posthouse.Range{}) {
		t.OK(err)
		for _, ev := range e.Events {
			if ev.Gate != nil && bytes.Contains(ev.Gate.Payload, []byte(secret)) || ev.Decision != nil && ev.Decision.Reason == secret {
				n++
			}
		}
	}
	if n != 3 {
		t.Errorf("the log shows %d contents, want 3", n)
	}
}

func ledgerWrongKeys(t *T) {
	w := t.desk(ledger.Options{Cipher: t.ring("k1")}).sealedThread("t")
	other, err := crypt.NewKeyring(map[string][]byte{"k1": bytes.Repeat([]byte{7}, 32)}, "k1")
	t.OK(err)
	tail := t.tailOf("t")
	for name, c := range map[string]posthouse.Cipher{"none": nil, "without it": t.ring("k2"), "another of that name": other} {
		l, err := ledger.Open(t.Store, &ledger.Options{Cipher: c})
		t.OK(err)
		refused := func(what string, err error) {
			t.Helper()
			var e *posthouse.Error
			switch {
			case !errors.Is(err, posthouse.ErrSealed) || !errors.As(err, &e):
				t.Errorf("cipher %s: %s: %v, want ErrSealed", name, what, err)
			case e.Hint == "" || c != nil && !strings.Contains(err.Error(), `"k1"`):
				t.Errorf("cipher %s: %s: %q names neither the key nor what to do", name, what, err)
			}
		}
		_, err = l.Get(t.ctx, w.Checkpoint.ID)
		refused("get", err)
		_, err = l.Gate(t.ctx, w.Gates[0].ID)
		refused("gate", err)
		_, err = l.Decide(t.ctx, w.Gates[1].ID, posthouse.Decision{Verdict: posthouse.Approve, By: "bob"})
		refused("decide", err)
		_, err = l.Fork(t.ctx, w.Checkpoint.ID, &ledger.ForkOptions{Thread: "elsewhere"})
		refused("fork", err)
		_, err = l.Core().Execution(t.ctx, w.Checkpoint, "2/n")
		refused("execution", err)
		_, err = l.Commit(t.ctx, &ledger.Draft{Thread: "t", Checkpoint: &posthouse.Change{Root: true, State: state("in the clear?")}})
		refused("commit", err)
		for _, err := range l.ListStates(t.ctx, posthouse.Query{Thread: "t"}) {
			refused("list", err)
		}
		for _, err := range l.Log(t.ctx, "t", posthouse.Range{From: tail.Seq - 1}) { // the decision
			refused("log", err)
		}
		if h, err := l.GetHeader(t.ctx, w.Checkpoint.ID); err != nil || h.ID != w.Checkpoint.ID {
			t.Errorf("headers are plain: %v", err)
		}
	}
	if got := t.tailOf("t"); got != tail {
		t.Errorf("the log went on to entry %d", got.Seq)
	}
}

// tailOf returns where a thread's log ends.
func (t *T) tailOf(thread string) (p posthouse.Position) {
	t.Helper()
	for info, err := range t.Store.Threads(t.ctx, posthouse.ThreadQuery{Thread: thread}) {
		t.OK(err)
		p = info.Tail
	}
	return p
}

func ledgerPlainBefore(t *T) {
	plain, err := ledger.Open(t.Store, nil)
	t.OK(err)
	p := &desk{T: t, Ledger: plain}
	long := strings.Repeat("before ", 200)
	old := p.root("t", "", long)
	d := t.desk(ledger.Options{Cipher: t.ring("k1")})
	next := d.derive(d.get(old.ID), long+secret)
	if got := t.inClear("t"); len(got) > 0 {
		t.Errorf("in the clear: %v", got)
	}
	again := t.desk(ledger.Options{Cipher: t.ring("k1")})
	if a, b := content(again.get(old.ID)), content(again.get(next.ID)); a != long || b != long+secret {
		t.Errorf("%d and %d bytes come back", len(a), len(b))
	}
	if c, err := plain.Get(t.ctx, old.ID); err != nil || content(c) != long {
		t.Errorf("the plain one, without a key: %v", err)
	}
	info, err := d.Thread(t.ctx, "t")
	t.OK(err)
	if !info.Sealed {
		t.Errorf("the summary does not say so")
	}
}

func ledgerRotates(t *T) {
	old := t.desk(ledger.Options{Cipher: t.ring("k1")})
	a, b := old.sealedThread("a"), old.sealedThread("b")
	_, err := old.Release(t.ctx, "b", nil)
	t.OK(err)
	old.sealedThread("b")
	tail := t.tailOf("a")
	both := t.desk(ledger.Options{Cipher: t.ring("k2", "k1")})
	both.root("c", "", "begun with the new key")
	done, err := crypt.Rewrap(t.ctx, both.Ledger)
	t.OK(err)
	if done.Keys != 3 || done.Current != 1 || done.Failed != 0 {
		t.Errorf("rewrapped: %+v", done)
	}
	if got := t.tailOf("a"); got != tail {
		t.Errorf("the log went on to entry %d", got.Seq)
	}
	use, err := crypt.KeyUse(t.ctx, both.Ledger)
	t.OK(err)
	if len(use) != 1 || use["k2"] != 4 {
		t.Errorf("keys in use: %v", use)
	}
	alone := t.desk(ledger.Options{Cipher: t.ring("k2")})
	for _, w := range []*posthouse.Committed{a, b} {
		if c := alone.get(w.Checkpoint.ID); string(c.State["a"].Data) != secret {
			t.Errorf("%s holds %q", c.ID, c.State["a"].Data)
		}
	}
	_, err = t.desk(ledger.Options{Cipher: t.ring("k1")}).Get(t.ctx, a.Checkpoint.ID)
	alone.wantErr(err, posthouse.ErrSealed)
}

func ledgerShreds(t *T) {
	d := t.desk(ledger.Options{Cipher: t.ring("k1")})
	d.sealedThread("t")
	d.sealedThread("other")
	_, err := retain.DeleteThread(t.ctx, d.Ledger, "t", nil)
	t.OK(err)
	use, err := crypt.KeyUse(t.ctx, d.Ledger)
	t.OK(err)
	if use["k1"] != 1 {
		t.Errorf("keys in use after the delete: %v", use)
	}
	w := d.sealedThread("t")
	again := t.desk(ledger.Options{Cipher: t.ring("k1")})
	if c := again.get(w.Checkpoint.ID); c.Generation != 2 || string(c.State["a"].Data) != secret {
		t.Errorf("the next generation: %+v", c)
	}
	if use, err = crypt.KeyUse(t.ctx, again.Ledger); err != nil || use["k1"] != 2 {
		t.Errorf("keys in use: %v, %v", use, err)
	}
}

func ledgerSealedForks(t *T) {
	d := t.desk(ledger.Options{Cipher: t.ring("k1")})
	w := d.sealedThread("t")
	f, err := d.Fork(t.ctx, w.Checkpoint.ID, &ledger.ForkOptions{Thread: "u"})
	t.OK(err)
	branch, err := d.Fork(t.ctx, w.Checkpoint.ID, nil)
	t.OK(err)
	if found := t.inClear("u"); len(found) > 0 {
		t.Errorf("in the clear: %v", found)
	}
	_, err = retain.DeleteThread(t.ctx, d.Ledger, "t", nil)
	t.OK(err)
	again := t.desk(ledger.Options{Cipher: t.ring("k1")})
	if c := again.get(f.ID); string(c.State["a"].Data) != secret || c.Metadata["who"] != secret {
		t.Errorf("the fork, its source being gone: %+v", c)
	}
	_, err = again.Get(t.ctx, branch.ID)
	again.wantErr(err, posthouse.ErrNotFound)
}

// beforeSealed fills a store with plain threads whose names sort before those
// that are sealed.
func (t *T) beforeSealed(plain int) *desk {
	t.Helper()
	l, err := ledger.Open(t.Store, nil)
	t.OK(err)
	p := &desk{T: t, Ledger: l}
	for _, name := range numbered("a", plain) {
		p.root(name, "", "plain")
	}
	t.desk(ledger.Options{Cipher: t.ring("k1")}).root("z", "", secret)
	return p
}

// refusesClear fails the case unless whatever a Ledger without keys writes is
// refused, and the store stays as it is.
func (t *T) refusesClear() {
	t.Helper()
	l, err := ledger.Open(t.Store, nil)
	t.OK(err)
	d := &desk{T: t, Ledger: l}
	for _, thread := range []string{"a0", "new"} {
		was := t.tailOf(thread)
		_, err := l.Commit(t.ctx, &ledger.Draft{Thread: thread, Checkpoint: &posthouse.Change{Root: true, State: state(secret)}})
		if e := d.wantErr(err, posthouse.ErrSealed); e.Hint == "" {
			t.Errorf("it does not say what to do: %v", err)
		}
		_, err = l.Signal(t.ctx, "a0", posthouse.Signal{Name: "note", By: "ann", Value: []byte(`"` + secret + `"`)})
		d.wantErr(err, posthouse.ErrSealed)
		if t.tailOf(thread) != was {
			t.Errorf("thread %s was written", thread)
		}
	}
}

func ledgerOnceEncrypted(t *T) {
	p := t.beforeSealed(30)
	t.refusesClear()
	l, err := ledger.Open(t.Store, nil)
	t.OK(err)
	d := &desk{T: t, Ledger: l}
	_, err = crypt.WriteInClear(t.ctx, l, posthouse.ClearDecision{By: "ann"})
	d.wantErr(err, posthouse.ErrInvalid)
	for range 2 { // once decided, it is
		e, err := crypt.WriteInClear(t.ctx, l, posthouse.ClearDecision{By: "ann", Reason: "the keys are lost"})
		t.OK(err)
		if e.Encrypted || len(e.Decisions) != 1 || e.Decisions[0].By != "ann" || e.Decisions[0].At.IsZero() {
			t.Errorf("on record: %+v", e)
		}
	}
	d.root("new", "", "plain")
	_, err = l.Commit(t.ctx, &ledger.Draft{Thread: "z", Checkpoint: &posthouse.Change{Root: true, State: state("plain")}})
	d.wantErr(err, posthouse.ErrSealed)

	t.desk(ledger.Options{Cipher: t.ring("k1")}).root("y", "", secret)
	t.refusesClear()
	e, err := crypt.Status(t.ctx, p.Ledger)
	t.OK(err)
	if !e.Encrypted || len(e.Decisions) != 1 {
		t.Errorf("encrypted again, on record: %+v", e)
	}
}

func ledgerFindsEncryption(t *T) {
	p := t.beforeSealed(30)
	for _, slots := range []bool{true, false} { // a store that lists slots need not look at threads
		for item, err := range t.slotsOf(posthouse.ProcessThread) {
			t.OK(err)
			if strings.Contains(item.Key.Step, "encryption") {
				_, err := t.Store.Slot(t.ctx, item.Key, posthouse.SlotOp{Verb: posthouse.SlotDelete, Revision: posthouse.AnyRevision})
				t.OK(err)
			}
		}
		store := t.Store
		if !slots {
			store = struct{ posthouse.Store }{t.Store}
		}
		l, err := ledger.Open(store, nil)
		t.OK(err)
		_, err = l.Save(t.ctx, posthouse.Root("new", state(secret)), nil)
		p.wantErr(err, posthouse.ErrSealed)
		t.refusesClear()
		e, err := crypt.Status(t.ctx, l)
		t.OK(err)
		if !e.Encrypted || e.Since.IsZero() {
			t.Errorf("on record: %+v", e)
		}
	}
}

// slotsOf lists a thread's slots, of a store that can.
func (t *T) slotsOf(thread string) iter.Seq2[*posthouse.SlotItem, error] {
	if l, ok := t.Store.(posthouse.SlotLister); ok {
		return l.Slots(t.ctx, thread)
	}
	return func(yield func(*posthouse.SlotItem, error) bool) {
		key := posthouse.SlotKey{Thread: thread, Step: "$encryption"}
		if slot, err := t.Store.Slot(t.ctx, key, posthouse.SlotOp{}); err == nil {
			yield(&posthouse.SlotItem{Key: key, Slot: slot}, nil)
		}
	}
}
