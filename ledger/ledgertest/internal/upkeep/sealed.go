package upkeep

import (
	"bytes"
	"errors"
	"iter"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/crypt"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/ledger/ledgertest/internal/desk"
	"github.com/posthouse/posthouse/retain"
)

// sealedCases are about a Ledger with a cipher, also if the harness has no cipher.
func sealedCases() []desk.Case {
	return []desk.Case{
		{Name: "ledger/with a cipher nothing is stored in the clear", Rule: "State, metadata, gates, decisions, signals and step results are in no entry, summary or slot of the store, and come back whole.", Run: sealsAll},
		{Name: "ledger/without the right key nothing opens", Rule: "No cipher, a ring without the key and another key of that name fail with ErrSealed, for reads and writes alike, and change nothing.", Run: wrongKeys},
		{Name: "ledger/plain records of before stay readable", Rule: "A thread that was begun in the clear goes on sealed; what is on record is read either way, and deltas reach across.", Run: plainBefore},
		{Name: "ledger/keys rotate without touching an entry", Rule: "After Rewrap the old key can go, for released generations too; no entry changes, and other threads' new keys are wrapped by the new one.", Run: rotates},
		{Name: "ledger/a deleted thread's key goes with it", Rule: "Deleting a thread destroys its data key; the next generation has another.", Run: shreds},
		{Name: "ledger/a store once encrypted takes nothing in the clear", Rule: "However many plain threads stand in front, a Ledger without keys is refused with ErrSealed for any thread and writes nothing, until somebody puts on record that it may.", Run: onceEncrypted},
		{Name: "ledger/an encrypted store without a mark is found out", Rule: "A store of a version that kept no mark is looked through whole, once, and marked.", Run: findsEncryption},
		{Name: "ledger/forks and copies are sealed for their own place", Rule: "A fork into another thread opens with that thread's key alone.", Run: sealedForks},
	}
}

// sealedThread puts the secret into every place that is sealed.
func sealedThread(d *desk.Desk, thread string) *posthouse.Committed {
	d.Helper()
	long := strings.Repeat(desk.Secret+" ", 40)
	_, err := d.Commit(d.Ctx, &ledger.Draft{Thread: thread, Steps: []posthouse.Step{
		{Task: "2/n", Name: "s", Value: posthouse.Value{Codec: "raw", Data: []byte(long)}, Story: desk.Told(desk.Secret)},
	}})
	d.OK(err)
	first, err := d.Commit(d.Ctx, &ledger.Draft{Thread: thread, Checkpoint: &posthouse.Change{
		Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, Metadata: map[string]string{"who": desk.Secret}, Story: desk.Told(desk.Secret),
		State: posthouse.State{"a": {Codec: "raw", Data: []byte(desk.Secret)}, "b": {Codec: "raw", Data: []byte("x" + long)}},
	}, Gates: []posthouse.Gate{{Name: "g", Payload: []byte(`"` + desk.Secret + `"`)}, {Name: "h", Payload: []byte(`["` + desk.Secret + `"]`)}}})
	d.OK(err)
	_, err = d.Decide(d.Ctx, first.Gates[0].ID, posthouse.Decision{Verdict: posthouse.Edit, By: "ann", Reason: desk.Secret, Value: []byte(`"` + desk.Secret + `"`)})
	d.OK(err)
	_, err = d.Signal(d.Ctx, thread, posthouse.Signal{Name: "note", By: "ann", Value: []byte(`"` + desk.Secret + `"`)})
	d.OK(err)
	return first
}

func sealsAll(t *desk.T) {
	plain, err := ledger.Open(t.Store, nil)
	t.OK(err)
	sealedThread((&desk.Desk{T: t, Ledger: plain}), "plain")
	if n := len(t.InClear("plain")); n != 8 {
		t.Fatalf("without a cipher the secret is found in %d places, so that not finding it would say nothing", n)
	}
	d := t.Desk(ledger.Options{Cipher: t.Ring("k1")})
	w := sealedThread(d, "t")
	if found := t.InClear("t"); len(found) > 0 {
		t.Errorf("in the clear: %v", found)
	}
	again := t.Desk(ledger.Options{Cipher: t.Ring("k1")})
	c := again.MustGet(w.Checkpoint.ID)
	if string(c.State["a"].Data) != desk.Secret || len(c.State["b"].Data) != 1+40*12 || c.Metadata["who"] != desk.Secret || c.Size != len(desk.Secret)+1+40*12 {
		t.Errorf("it comes back as %+v", c)
	}
	g, err := again.Gate(t.Ctx, w.Gates[0].ID)
	t.OK(err)
	if string(g.Payload) != `"`+desk.Secret+`"` || g.Decision == nil || g.Decision.Reason != desk.Secret {
		t.Errorf("the gate comes back as %+v", g)
	}
	x, err := desk.ExecutionOf(t.Ctx, again.Ledger, &c.Header, "2/n")
	t.OK(err)
	if len(x.Steps) != 1 || !strings.HasPrefix(string(x.Steps[0].Value.Data), desk.Secret) {
		t.Errorf("on record: %+v", x.Steps)
	}
	if s := x.Steps[0].Story; s.Error != desk.Secret || len(s.Notes) != 1 || s.Notes[0].Line != desk.Secret || s.Attempts != 2 || s.Took != time.Second {
		t.Errorf("the step's story comes back as %+v", s)
	}
	n := 0
	for e, err := range again.Log(t.Ctx, "t", posthouse.Range{}) {
		t.OK(err)
		for _, ev := range e.Events {
			if ev.Gate != nil && bytes.Contains(ev.Gate.Payload, []byte(desk.Secret)) || ev.Decision != nil && ev.Decision.Reason == desk.Secret {
				n++
			}
		}
	}
	if n != 3 {
		t.Errorf("the log shows %d contents, want 3", n)
	}
}

func wrongKeys(t *desk.T) {
	w := sealedThread(t.Desk(ledger.Options{Cipher: t.Ring("k1")}), "t")
	other, err := crypt.NewKeyring(map[string][]byte{"k1": bytes.Repeat([]byte{7}, 32)}, "k1")
	t.OK(err)
	tail := tailOf(t, "t")
	for name, c := range map[string]posthouse.Cipher{"none": nil, "without it": t.Ring("k2"), "another of that name": other} {
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
		_, err = l.Get(t.Ctx, w.Checkpoint.ID)
		refused("get", err)
		_, err = l.Gate(t.Ctx, w.Gates[0].ID)
		refused("gate", err)
		_, err = l.Decide(t.Ctx, w.Gates[1].ID, posthouse.Decision{Verdict: posthouse.Approve, By: "bob"})
		refused("decide", err)
		_, err = l.Fork(t.Ctx, w.Checkpoint.ID, &ledger.ForkOptions{Thread: "elsewhere"})
		refused("fork", err)
		_, err = desk.ExecutionOf(t.Ctx, l, w.Checkpoint, "2/n")
		refused("execution", err)
		_, err = l.Commit(t.Ctx, &ledger.Draft{Thread: "t", Checkpoint: &posthouse.Change{Root: true, State: desk.State("in the clear?")}})
		refused("commit", err)
		for _, err := range l.ListStates(t.Ctx, posthouse.Query{Thread: "t"}) {
			refused("list", err)
		}
		for _, err := range l.Log(t.Ctx, "t", posthouse.Range{From: tail.Seq - 1}) { // the decision
			refused("log", err)
		}
		if h, err := l.GetHeader(t.Ctx, w.Checkpoint.ID); err != nil || h.ID != w.Checkpoint.ID {
			t.Errorf("headers are plain: %v", err)
		}
	}
	if got := tailOf(t, "t"); got != tail {
		t.Errorf("the log went on to entry %d", got.Seq)
	}
}

// tailOf returns where a thread's log ends.
func tailOf(t *desk.T, thread string) (p posthouse.Position) {
	t.Helper()
	for info, err := range t.Store.Threads(t.Ctx, posthouse.ThreadQuery{Thread: thread}) {
		t.OK(err)
		p = info.Tail
	}
	return p
}

func plainBefore(t *desk.T) {
	plain, err := ledger.Open(t.Store, nil)
	t.OK(err)
	p := &desk.Desk{T: t, Ledger: plain}
	long := strings.Repeat("before ", 200)
	old := p.Root("t", "", long)
	d := t.Desk(ledger.Options{Cipher: t.Ring("k1")})
	next := d.Derive(d.MustGet(old.ID), long+desk.Secret)
	if got := t.InClear("t"); len(got) > 0 {
		t.Errorf("in the clear: %v", got)
	}
	again := t.Desk(ledger.Options{Cipher: t.Ring("k1")})
	if a, b := desk.Content(again.MustGet(old.ID)), desk.Content(again.MustGet(next.ID)); a != long || b != long+desk.Secret {
		t.Errorf("%d and %d bytes come back", len(a), len(b))
	}
	if c, err := plain.Get(t.Ctx, old.ID); err != nil || desk.Content(c) != long {
		t.Errorf("the plain one, without a key: %v", err)
	}
	info, err := d.Thread(t.Ctx, "t")
	t.OK(err)
	if !info.Sealed {
		t.Errorf("the summary does not say so")
	}
}

func rotates(t *desk.T) {
	old := t.Desk(ledger.Options{Cipher: t.Ring("k1")})
	a, b := sealedThread(old, "a"), sealedThread(old, "b")
	_, err := old.Release(t.Ctx, "b", nil)
	t.OK(err)
	sealedThread(old, "b")
	tail := tailOf(t, "a")
	both := t.Desk(ledger.Options{Cipher: t.Ring("k2", "k1")})
	both.Root("c", "", "begun with the new key")
	done, err := crypt.Rewrap(t.Ctx, both.Ledger)
	t.OK(err)
	if done.Keys != 3 || done.Current != 1 || done.Failed != 0 {
		t.Errorf("rewrapped: %+v", done)
	}
	if got := tailOf(t, "a"); got != tail {
		t.Errorf("the log went on to entry %d", got.Seq)
	}
	use, err := crypt.KeyUse(t.Ctx, both.Ledger)
	t.OK(err)
	if len(use) != 1 || use["k2"] != 4 {
		t.Errorf("keys in use: %v", use)
	}
	alone := t.Desk(ledger.Options{Cipher: t.Ring("k2")})
	for _, w := range []*posthouse.Committed{a, b} {
		if c := alone.MustGet(w.Checkpoint.ID); string(c.State["a"].Data) != desk.Secret {
			t.Errorf("%s holds %q", c.ID, c.State["a"].Data)
		}
	}
	_, err = t.Desk(ledger.Options{Cipher: t.Ring("k1")}).Get(t.Ctx, a.Checkpoint.ID)
	alone.WantErr(err, posthouse.ErrSealed)
}

func shreds(t *desk.T) {
	d := t.Desk(ledger.Options{Cipher: t.Ring("k1")})
	sealedThread(d, "t")
	sealedThread(d, "other")
	_, err := retain.DeleteThread(t.Ctx, d.Ledger, "t", nil)
	t.OK(err)
	use, err := crypt.KeyUse(t.Ctx, d.Ledger)
	t.OK(err)
	if use["k1"] != 1 {
		t.Errorf("keys in use after the delete: %v", use)
	}
	w := sealedThread(d, "t")
	again := t.Desk(ledger.Options{Cipher: t.Ring("k1")})
	if c := again.MustGet(w.Checkpoint.ID); c.Generation != 2 || string(c.State["a"].Data) != desk.Secret {
		t.Errorf("the next generation: %+v", c)
	}
	use, err = crypt.KeyUse(t.Ctx, again.Ledger)
	if err != nil || use["k1"] != 2 {
		t.Errorf("keys in use: %v, %v", use, err)
	}
}

func sealedForks(t *desk.T) {
	d := t.Desk(ledger.Options{Cipher: t.Ring("k1")})
	w := sealedThread(d, "t")
	f, err := d.Fork(t.Ctx, w.Checkpoint.ID, &ledger.ForkOptions{Thread: "u"})
	t.OK(err)
	branch, err := d.Fork(t.Ctx, w.Checkpoint.ID, nil)
	t.OK(err)
	if found := t.InClear("u"); len(found) > 0 {
		t.Errorf("in the clear: %v", found)
	}
	_, err = retain.DeleteThread(t.Ctx, d.Ledger, "t", nil)
	t.OK(err)
	again := t.Desk(ledger.Options{Cipher: t.Ring("k1")})
	if c := again.MustGet(f.ID); string(c.State["a"].Data) != desk.Secret || c.Metadata["who"] != desk.Secret {
		t.Errorf("the fork, its source being gone: %+v", c)
	}
	_, err = again.Get(t.Ctx, branch.ID)
	again.WantErr(err, posthouse.ErrNotFound)
}

// beforeSealed fills a store with plain threads that sort before the sealed ones.
func beforeSealed(t *desk.T, plain int) *desk.Desk {
	t.Helper()
	l, err := ledger.Open(t.Store, nil)
	t.OK(err)
	p := &desk.Desk{T: t, Ledger: l}
	for _, name := range desk.Numbered("a", plain) {
		p.Root(name, "", "plain")
	}
	t.Desk(ledger.Options{Cipher: t.Ring("k1")}).Root("z", "", desk.Secret)
	return p
}

// refusesClear fails the case unless each write of a Ledger without keys is refused and
// changes nothing.
func refusesClear(t *desk.T) {
	t.Helper()
	l, err := ledger.Open(t.Store, nil)
	t.OK(err)
	d := &desk.Desk{T: t, Ledger: l}
	for _, thread := range []string{"a0", "new"} {
		was := tailOf(t, thread)
		_, err := l.Commit(t.Ctx, &ledger.Draft{Thread: thread, Checkpoint: &posthouse.Change{Root: true, State: desk.State(desk.Secret)}})
		if e := d.WantErr(err, posthouse.ErrSealed); e.Hint == "" {
			t.Errorf("it does not say what to do: %v", err)
		}
		_, err = l.Signal(t.Ctx, "a0", posthouse.Signal{Name: "note", By: "ann", Value: []byte(`"` + desk.Secret + `"`)})
		d.WantErr(err, posthouse.ErrSealed)
		if tailOf(t, thread) != was {
			t.Errorf("thread %s was written", thread)
		}
	}
}

func onceEncrypted(t *desk.T) {
	p := beforeSealed(t, 30)
	refusesClear(t)
	l, err := ledger.Open(t.Store, nil)
	t.OK(err)
	d := &desk.Desk{T: t, Ledger: l}
	_, err = crypt.WriteInClear(t.Ctx, l, posthouse.ClearDecision{By: "ann"})
	d.WantErr(err, posthouse.ErrInvalid)
	for range 2 { // once decided, it is
		e, err := crypt.WriteInClear(t.Ctx, l, posthouse.ClearDecision{By: "ann", Reason: "the keys are lost"})
		t.OK(err)
		if e.Encrypted || len(e.Decisions) != 1 || e.Decisions[0].By != "ann" || e.Decisions[0].At.IsZero() {
			t.Errorf("on record: %+v", e)
		}
	}
	d.Root("new", "", "plain")
	_, err = l.Commit(t.Ctx, &ledger.Draft{Thread: "z", Checkpoint: &posthouse.Change{Root: true, State: desk.State("plain")}})
	d.WantErr(err, posthouse.ErrSealed)

	t.Desk(ledger.Options{Cipher: t.Ring("k1")}).Root("y", "", desk.Secret)
	refusesClear(t)
	e, err := crypt.Status(t.Ctx, p.Ledger)
	t.OK(err)
	if !e.Encrypted || len(e.Decisions) != 1 {
		t.Errorf("encrypted again, on record: %+v", e)
	}
}

func findsEncryption(t *desk.T) {
	p := beforeSealed(t, 30)
	for _, slots := range []bool{true, false} { // a store that lists slots need not look at threads
		for item, err := range slotsOf(t, posthouse.ProcessThread) {
			t.OK(err)
			if strings.Contains(item.Key.Step, "encryption") {
				_, err := t.Store.Slot(t.Ctx, item.Key, posthouse.SlotOp{Verb: posthouse.SlotDelete, Revision: posthouse.AnyRevision})
				t.OK(err)
			}
		}
		store := t.Store
		if !slots {
			store = struct{ posthouse.Store }{t.Store}
		}
		l, err := ledger.Open(store, nil)
		t.OK(err)
		_, err = l.Save(t.Ctx, posthouse.Root("new", desk.State(desk.Secret)), nil)
		p.WantErr(err, posthouse.ErrSealed)
		refusesClear(t)
		e, err := crypt.Status(t.Ctx, l)
		t.OK(err)
		if !e.Encrypted || e.Since.IsZero() {
			t.Errorf("on record: %+v", e)
		}
	}
}

// slotsOf lists a thread's slots, if the store can list them.
func slotsOf(t *desk.T, thread string) iter.Seq2[*posthouse.SlotItem, error] {
	if l, ok := t.Store.(posthouse.SlotLister); ok {
		return l.Slots(t.Ctx, thread)
	}
	return func(yield func(*posthouse.SlotItem, error) bool) {
		key := posthouse.SlotKey{Thread: thread, Step: "$encryption"}
		if slot, err := t.Store.Slot(t.Ctx, key, posthouse.SlotOp{}); err == nil {
			yield(&posthouse.SlotItem{Key: key, Slot: slot}, nil)
		}
	}
}
