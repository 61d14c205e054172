package ledgertest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/ledger/ledgertest/internal/desk"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/transfer"
)

func ledgerEventCases() []desk.Case {
	return []desk.Case{
		{Name: "ledger/one event for each operation", Rule: "save, load, fork, delete, decide, vote, signal: exactly one event each, the same on every store; lists none (X6).", Run: ledgerOneEvent},
		{Name: "ledger/events name their coordination", Rule: "Each event of a thread says the coordination of its checkpoint, or of the thread's newest: also decisions, votes, signals, releases and copies.", Run: ledgerEventCoordination},
		{Name: "ledger/a panicking observer harms nothing", Rule: "It is logged and swallowed; the operation succeeds.", Run: ledgerPanickingObserver},
		{Name: "ledger/watch tells everything in order", Rule: "Watch yields each record, per thread in the log's order, and goes on behind a cursor.", Run: ledgerWatches},
		{Name: "ledger/watch goes on inside an entry", Rule: "A watch resumed from the cursor of any event yields exactly what comes behind that event: the rest of its entry, also through another Ledger, unless the entry was removed; over a store that is no Watcher too.", Run: ledgerWatchesInside},
		{Name: "ledger/watch polls a store that cannot tell", Rule: "Over a store that is no Watcher, Watch misses nothing and repeats nothing, per thread in the log's order, from the start, from a cursor in another Ledger and from now; a thread deleted and begun anew is seen from its beginning, other cursors are ErrInvalid.", Run: ledgerPolls},
	}
}

// observedDesk is a desk that records events. want compares the events since its last call.
func observedDesk(t *desk.T) (d *desk.Desk, want func(events ...string)) {
	var mu sync.Mutex
	var got []string
	d = t.Desk(ledger.Options{Observer: posthouse.Tee(nil, func(e posthouse.Operation) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, string(e.Kind))
	})})
	return d, func(events ...string) {
		t.Helper()
		if !slices.Equal(got, events) {
			t.Errorf("events %q, want %q", got, events)
		}
		got = nil
	}
}

func ledgerOneEvent(t *desk.T) {
	d, want := observedDesk(t)
	c := d.Root("t", "", "0")
	want("saved")
	d.MustGet(c.ID)
	want("loaded")
	_, err := d.Get(t.Ctx, "nobody")
	d.WantErr(err, posthouse.ErrNotFound)
	_ = d.States(posthouse.Query{})
	want()
	f, err := d.Fork(t.Ctx, c.ID, nil)
	t.OK(err)
	want("forked")
	_, err = retain.Delete(t.Ctx, d.Ledger, f.ID, nil)
	t.OK(err)
	want("deleted")
	done := d.Ask("u", posthouse.Gate{Name: "ok?"})
	want("saved")
	_, err = d.Decide(t.Ctx, done.Gates[0].ID, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"})
	t.OK(err)
	want("decided")
	waitForSignal(d, "signals", "", nil, "go")
	want("saved")
	s := sendSignal(d, "signals", "go", "1")
	want("signalled", "decided")
	_, err = d.Signal(t.Ctx, "signals", posthouse.Signal{ID: s.ID, Name: "go", Value: s.Value})
	t.OK(err)
	want() // it is on record already
	sendSignal(d, "signals", "later", "2")
	want("signalled")
	_, err = d.Signal(t.Ctx, "nowhere", posthouse.Signal{Name: "go"})
	d.WantErr(err, posthouse.ErrNotFound)
	want()
	votes := d.Ask("votes", posthouse.Gate{Name: "ok?", Quorum: &posthouse.Quorum{Need: 2}}).Gates[0].ID
	want("saved")
	vote := func(by string) error {
		_, err := d.Decide(t.Ctx, votes, posthouse.Decision{Verdict: posthouse.Approve, By: by})
		return err
	}
	t.OK(vote("alice"))
	want("voted")
	d.WantErr(vote("alice"), posthouse.ErrVoted)
	want()
	t.OK(vote("bob"))
	want("voted", "decided")
	_, err = retain.DeleteCoordination(t.Ctx, d.Ledger, "u", nil)
	t.OK(err)
	want("deleted")
	d.MustSave(&posthouse.Checkpoint{Header: posthouse.Header{ID: "x"}, State: desk.State("1")})
	want("saved")
	_, err = d.Save(t.Ctx, &posthouse.Checkpoint{Header: posthouse.Header{ID: "x"}, State: desk.State("2")}, &ledger.SaveOptions{Replace: true})
	t.OK(err)
	want("saved")
}

func ledgerEventCoordination(t *desk.T) {
	got := map[string]string{}
	d := t.Desk(ledger.Options{Observer: func(e posthouse.Operation) { got[string(e.Kind)] = e.Coordination }})
	c, err := d.Commit(t.Ctx, &ledger.Draft{Thread: "t", Checkpoint: &posthouse.Change{
		Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, Coordination: "desk",
	}, Gates: []posthouse.Gate{{Name: "ok?", Quorum: &posthouse.Quorum{Need: 2}}}})
	t.OK(err)
	for _, by := range []string{"alice", "bob"} {
		_, err = d.Decide(t.Ctx, c.Gates[0].ID, posthouse.Decision{Verdict: posthouse.Approve, By: by})
		t.OK(err)
	}
	sendSignal(d, "t", "go", "1")
	_, err = d.Fork(t.Ctx, c.Checkpoint.ID, nil)
	t.OK(err)
	_, err = transfer.CopyThread(t.Ctx, d.Ledger, "t", "copy", nil)
	t.OK(err)
	_, err = d.Release(t.Ctx, "t", nil)
	t.OK(err)
	for _, kind := range []string{"saved", "decided", "voted", "signalled", "forked", "copied", "released"} {
		if got[kind] != "desk" {
			t.Errorf("%s says the coordination %q, want desk", kind, got[kind])
		}
	}
	_, err = d.Commit(t.Ctx, &ledger.Draft{
		Thread: "u", Checkpoint: &posthouse.Change{Status: posthouse.StatusDone, Coordination: "other"}, Release: &ledger.ReleaseOptions{},
	})
	t.OK(err)
	if got["released"] != "other" {
		t.Errorf("released with its first checkpoint it says %q, want other", got["released"])
	}
	d.Root("u", "", "0")
	_, err = d.Release(t.Ctx, "u", nil)
	t.OK(err)
	if got["released"] != "u" {
		t.Errorf("without a coordination of its own it says %q, want the thread's name", got["released"])
	}
}

func ledgerPanickingObserver(t *desk.T) {
	d := t.Desk(ledger.Options{Observer: func(posthouse.Operation) { panic("no") }})
	c := d.Root("t", "", "0")
	if desk.Content(d.MustGet(c.ID)) != "0" {
		t.Error("not saved")
	}
}

func ledgerWatches(t *desk.T) {
	d := t.Desk(ledger.Options{})
	done := d.Ask("t", posthouse.Gate{Name: "ok?"})
	_, err := d.Decide(t.Ctx, done.Gates[0].ID, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"})
	t.OK(err)
	d.Root("u", "", "0")
	watch := func(q ledger.WatchQuery, n int) (kinds []string, cursor string) {
		ctx, cancel := context.WithCancel(t.Ctx)
		defer cancel()
		for e, err := range d.Watch(ctx, q) {
			t.OK(err)
			kinds = append(kinds, fmt.Sprintf("%s@%s/%d", e.Kind, e.Thread, e.Seq))
			cursor = e.Cursor
			if len(kinds) == n {
				break
			}
		}
		return kinds, cursor
	}
	kinds, cursor := watch(ledger.WatchQuery{}, 3)
	if fmt.Sprint(kinds) != "[checkpoint@t/1 gate@t/1 decision@t/2]" {
		t.Errorf("events %v", kinds)
	}
	kinds, _ = watch(ledger.WatchQuery{Cursor: cursor}, 1)
	if fmt.Sprint(kinds) != "[checkpoint@u/1]" {
		t.Errorf("events behind the cursor: %v", kinds)
	}
	kinds, _ = watch(ledger.WatchQuery{Thread: "u"}, 1)
	if fmt.Sprint(kinds) != "[checkpoint@u/1]" {
		t.Errorf("events of a thread: %v", kinds)
	}
}

// ledgerWatchesInside ends a watch after each event in turn. A new Ledger goes on from the
// cursor.
func ledgerWatchesInside(t *desk.T) {
	d := t.Desk(ledger.Options{})
	var gates []posthouse.Gate
	for _, name := range []string{"a", "b", "c"} {
		gates = append(gates, posthouse.Gate{Name: name})
	}
	for _, thread := range []string{"t", "u"} {
		done, err := d.Commit(t.Ctx, &ledger.Draft{Thread: thread, Gates: gates, Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting}})
		t.OK(err)
		_, err = d.Decide(t.Ctx, done.Gates[1].ID, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"})
		t.OK(err)
	}
	d.Root("zz", "", "0") // the last: a watch that lost something ends here, too
	for name, store := range map[string]posthouse.Store{"as it is": t.Store, "polled": struct{ posthouse.Store }{t.Store}} {
		l, err := ledger.Open(store, &ledger.Options{Poll: time.Millisecond, Cipher: t.Cipher})
		t.OK(err)
		watch := func(q ledger.WatchQuery, n int) (seen []string, last *posthouse.Event) {
			ctx, cancel := context.WithCancel(t.Ctx)
			defer cancel()
			for e, err := range l.Watch(ctx, q) {
				t.OK(err)
				text := fmt.Sprintf("%s@%s/%d", e.Kind, e.Thread, e.Seq)
				if e.Gate != nil {
					text += "/" + e.Gate.Name
				}
				seen, last = append(seen, text), e
				if len(seen) == n || e.Thread == "zz" {
					break
				}
			}
			return seen, last
		}
		whole, _ := watch(ledger.WatchQuery{}, 0)
		for step := 1; step < 4; step++ {
			var got []string
			for cursor, thread := "", ""; thread != "zz"; {
				more, last := watch(ledger.WatchQuery{Cursor: cursor}, step)
				got, cursor, thread = append(got, more...), last.Cursor, last.Thread
			}
			if len(whole) != 11 || !slices.Equal(got, whole) {
				t.Errorf("%s, resumed every %d events:\n%v, want\n%v", name, step, got, whole)
			}
		}
		_, second := watch(ledger.WatchQuery{Thread: "t"}, 2)
		if got, _ := watch(ledger.WatchQuery{Thread: "t", Cursor: second.Cursor}, 1); got[0] != "gate@t/1/b" {
			t.Errorf("%s: behind the first gate of t: %v", name, got)
		}
		if got, _ := watch(ledger.WatchQuery{Thread: "u", Cursor: second.Cursor}, 1); got[0] != "checkpoint@u/1" {
			t.Errorf("%s: the cursor of t's, watching u: %v", name, got)
		}
	}
	inside := cursorInside(t, d, "u")
	_, err := t.Store.Remove(t.Ctx, posthouse.Removal{Thread: "u", All: true})
	t.OK(err)
	for e, err := range d.Watch(t.Ctx, ledger.WatchQuery{Cursor: inside}) {
		t.OK(err)
		_, ordered := t.Store.(posthouse.Watcher) // a polling watch of one thread knows nothing of the others
		if ordered && e.Thread != "zz" || e.Thread == "u" {
			t.Errorf("behind an entry that was removed: %s of %s", e.Kind, e.Thread)
		}
		break
	}
	for _, bad := range []string{"x" + inside, strings.Repeat("~", 9), strings.Replace(inside, "~", "~x", 1)} {
		for _, err := range d.Watch(t.Ctx, ledger.WatchQuery{Cursor: bad}) {
			t.WantCode(fmt.Sprintf("cursor %q", bad), err, posthouse.CodeInvalid)
			break
		}
	}
}

// cursorInside returns the cursor of the second event of a thread.
func cursorInside(t *desk.T, d *desk.Desk, thread string) (cursor string) {
	t.Helper()
	n := 0
	for e, err := range d.Watch(t.Ctx, ledger.WatchQuery{Thread: thread}) {
		t.OK(err)
		if n++; n == 2 {
			cursor = e.Cursor
			break
		}
	}
	return cursor
}

// ledgerPolls hides the optional interfaces of the store.
func ledgerPolls(t *desk.T) {
	d := t.DeskOn(struct{ posthouse.Store }{t.Store}, ledger.Options{Poll: time.Millisecond})
	watch := func(q ledger.WatchQuery, n int, want string, meanwhile func()) (cursor string) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Ctx)
		defer cancel()
		var got []string
		events := d.Watch(ctx, q)
		if meanwhile != nil {
			meanwhile()
		}
		for e, err := range events {
			t.OK(err)
			got, cursor = append(got, fmt.Sprintf("%s@%s/%d", e.Kind, e.Thread, e.Seq)), e.Cursor
			if len(got) == n {
				break
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("Watch %+v: %v, want %s", q, got, want)
		}
		return cursor
	}
	done := d.Ask("t", posthouse.Gate{Name: "ok?"})
	decide := func() {
		_, err := d.Decide(t.Ctx, done.Gates[0].ID, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"})
		t.OK(err)
	}
	cursor := watch(ledger.WatchQuery{}, 2, "checkpoint@t/1 gate@t/1", nil)
	watch(ledger.WatchQuery{Cursor: "now"}, 2, "decision@t/2 checkpoint@u/1", func() { decide(); d.Root("u", "", "0") })
	l, err := ledger.Open(struct{ posthouse.Store }{t.Store}, &ledger.Options{Poll: time.Millisecond, Cipher: t.Cipher})
	t.OK(err)
	d.Ledger = l
	cursor = watch(ledger.WatchQuery{Cursor: cursor}, 2, "decision@t/2 checkpoint@u/1", nil)
	watch(ledger.WatchQuery{Thread: "u"}, 1, "checkpoint@u/1", nil)
	watch(ledger.WatchQuery{Thread: "u", Cursor: cursor}, 1, "checkpoint@u/2", func() {
		d.MustSave(&posthouse.Checkpoint{Header: posthouse.Header{Thread: "u"}, State: desk.State("1")})
	})

	cursor = watch(ledger.WatchQuery{Cursor: cursor}, 1, "checkpoint@u/2", nil)
	_, err = t.Store.Remove(t.Ctx, posthouse.Removal{Thread: "u", All: true})
	t.OK(err)
	l, err = ledger.Open(struct{ posthouse.Store }{t.Store}, &ledger.Options{Poll: time.Millisecond, Cipher: t.Cipher})
	t.OK(err)
	d.Ledger = l
	d.Root("u", "", "new")
	for range 2 {
		d.MustSave(&posthouse.Checkpoint{Header: posthouse.Header{Thread: "u"}, State: desk.State("newer")})
	}
	watch(ledger.WatchQuery{Cursor: cursor}, 3, "checkpoint@u/1 checkpoint@u/2 checkpoint@u/3", nil)
	for _, bad := range []string{"x", "poll", "poll-!", "poll-AAAA", "1"} {
		for _, err := range d.Watch(t.Ctx, ledger.WatchQuery{Cursor: bad}) {
			t.WantCode(fmt.Sprintf("cursor %q", bad), err, posthouse.CodeInvalid)
			break
		}
	}
}
