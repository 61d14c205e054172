package overview_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/crypt"
	"github.com/posthouse/posthouse/internal/base/text"
	committing "github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/overview"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/store/memstore"
)

// open returns a Ledger over a store in memory.
func open(t *testing.T, o *ledger.Options) *ledger.Ledger {
	t.Helper()
	return openOver(t, memstore.New(), o)
}

func openOver(t *testing.T, store posthouse.Store, o *ledger.Options) *ledger.Ledger {
	t.Helper()
	l, err := ledger.Open(store, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(l.Close(), store.Close()); err != nil {
			t.Error(err)
		}
	})
	return l
}

// face returns what a list shows of a thread.
func face(t *testing.T, l *ledger.Ledger, thread string) *overview.Face {
	t.Helper()
	info, err := l.Thread(t.Context(), thread)
	if err != nil {
		t.Fatal(err)
	}
	f, err := overview.Of(t.Context(), l, info)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func commit(t *testing.T, l *ledger.Ledger, d *ledger.Draft) *posthouse.Committed {
	t.Helper()
	c, err := l.Commit(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// noted is a checkpoint of a node that left a note.
func noted(line string) *posthouse.Change {
	return &posthouse.Change{
		Kind: posthouse.KindNode, Status: posthouse.StatusDone, Node: "pay",
		Story: posthouse.Story{Attempts: 1, Notes: []posthouse.Note{{Line: line}, {Model: "m"}}},
	}
}

// TestNow: the question goes before the node that runs, the error and the note.
func TestNow(t *testing.T) {
	l := open(t, nil)
	commit(t, l, &ledger.Draft{Thread: "t", Checkpoint: noted("paid 5 of 7\nand more")})
	want := func(what string) {
		t.Helper()
		if have := face(t, l, "t").Now; have != what {
			t.Errorf("now is %q, want %q", have, what)
		}
	}
	want("paid 5 of 7")
	commit(t, l, &ledger.Draft{Thread: "t", Checkpoint: &posthouse.Change{Kind: posthouse.KindFail, Status: posthouse.StatusFailed, Node: "pay", Next: []string{"pay"}, Error: "\n no such account\nat all"}})
	want("no such account")
	commit(t, l, &ledger.Draft{Thread: "t", Checkpoint: &posthouse.Change{Kind: posthouse.KindInput, Status: posthouse.StatusRunning, Next: []string{"check", "pay"}}})
	want("check, pay")
	c := commit(t, l, &ledger.Draft{Thread: "t", Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, Next: []string{"pay"}}, Gates: []posthouse.Gate{
		{Name: "clock", Kind: posthouse.GateTimer, ExpiresAt: l.Now().Add(1 << 40)}, {Name: "refund", Text: "Refund 40 EUR?\nThe parcel was lost.", Task: "1/pay"},
	}})
	want("Refund 40 EUR?")
	if _, err := l.Decide(t.Context(), c.Gates[1].ID, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"}); err != nil {
		t.Fatal(err)
	}
	want("pay")
	commit(t, l, &ledger.Draft{Thread: "t", Checkpoint: noted(strings.Repeat("é", 300))})
	if have := face(t, l, "t").Now; len(have) != overview.MaxNow || !strings.HasPrefix(strings.Repeat("é", 300), have) {
		t.Errorf("a long line is shown with %d bytes: %q", len(have), have)
	}
}

// TestNowOfWaits: a list says what a thread waits for, and until when, also where no person decides.
func TestNowOfWaits(t *testing.T) {
	l := open(t, nil)
	at := l.Now().Add(time.Hour).UTC().Truncate(time.Millisecond)
	until := at.Format(time.RFC3339)
	for i, tc := range []struct {
		gate posthouse.Gate
		want string
	}{
		{posthouse.Gate{Name: "sleep", Kind: posthouse.GateTimer, ExpiresAt: at}, "sleeps until " + until},
		{posthouse.Gate{Name: "$retry-2", Kind: posthouse.GateTimer, Text: "the next attempt of node read", ExpiresAt: at}, "the next attempt of node read at " + until},
		{posthouse.Gate{Name: "signal:paid", Kind: posthouse.GateSignal, Signal: "paid"}, "waits for the signal paid"},
		{posthouse.Gate{Name: "signal:paid", Kind: posthouse.GateSignal, Signal: "paid", ExpiresAt: at}, "waits for the signal paid until " + until},
		{posthouse.Gate{Name: "call", Kind: posthouse.GateThread, Text: "child", ExpiresAt: at}, "waits for the thread child"},
		{posthouse.Gate{Name: "wipe", Kind: posthouse.GateTask, Call: &posthouse.TaskCall{Task: "wipe-tapes"}}, "waits for a worker for wipe-tapes"},
		{posthouse.Gate{Name: "wipe", Kind: posthouse.GateTask, Call: &posthouse.TaskCall{Task: "wipe-tapes", NotBefore: at, Paused: "cool down"}}, "task wipe-tapes is paused (cool down) until " + until},
		{posthouse.Gate{Name: "wipe", Kind: posthouse.GateTask, Call: &posthouse.TaskCall{Task: "wipe-tapes", NotBefore: at, Attempt: 2, Failure: "no drive"}}, "the next attempt of task wipe-tapes at " + until},
		{posthouse.Gate{Name: "wipe", Kind: posthouse.GateTask, Call: &posthouse.TaskCall{Task: "wipe-tapes", NotBefore: l.Now().Add(-time.Hour), Paused: "cool down"}}, "waits for a worker for wipe-tapes"},
	} {
		thread := "t" + strconv.Itoa(i)
		commit(t, l, &ledger.Draft{
			Thread:     thread,
			Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, Next: []string{"read"}},
			Gates:      []posthouse.Gate{tc.gate},
		})
		if have := face(t, l, thread).Now; have != tc.want {
			t.Errorf("a thread with the gate %s: now is %q, want %q", tc.gate.Name, have, tc.want)
		}
	}
}

// TestNowOfAPausedTask: a list says who paused a task and until when, by no read more than that of a task.
func TestNowOfAPausedTask(t *testing.T) {
	now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	store := &bulkStore{Store: memstore.New()}
	l := openOver(t, store, &ledger.Options{Now: func() time.Time { return now }})
	c := commit(t, l, &ledger.Draft{
		Thread: "t", Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting},
		Gates: []posthouse.Gate{{Name: "wipe", Kind: posthouse.GateTask, Call: &posthouse.TaskCall{Task: "wipe-tapes"}}},
	})
	reads := func() int64 {
		before := store.calls.Load()
		_ = face(t, l, "t")
		return store.calls.Load() - before
	}
	open, at := c.Gates[0], now.Add(time.Hour)
	most := reads()
	for _, tc := range []struct {
		by, why, paused, want string
	}{
		{"olga", text.Paused, "", "task wipe-tapes is paused by olga until 2026-03-01T10:00:00Z"},
		{"worker:w1", "paused: cool down", "cool down", "task wipe-tapes is paused by worker:w1 (cool down) until 2026-03-01T10:00:00Z"},
		{"worker:w1", text.Paused, "", "waits for a worker for wipe-tapes"}, // its own word for why it failed
	} {
		next := *open.Call
		next.NotBefore, next.Paused = at, tc.paused
		_, opened, err := committing.ResolveTask(t.Context(), l.Core(), committing.RefOf(&open), &committing.TaskOutcome{By: tc.by, Next: &next, Why: tc.why})
		if err != nil {
			t.Fatal(err)
		}
		if have := face(t, l, "t").Now; have != tc.want {
			t.Errorf("now is %q, want %q", have, tc.want)
		}
		if n := reads(); n > most {
			t.Errorf("%d reads for a task that is held back, %d for another", n, most)
		}
		open = *opened
	}
	now = at
	if have := face(t, l, "t").Now; have != "waits for a worker for wipe-tapes" {
		t.Errorf("once its time has come, now is %q", have)
	}
}

// TestNowOfAnEncryptedStore: the line is read with the key, and the store has nothing of it in clear.
func TestNowOfAnEncryptedStore(t *testing.T) {
	ring, err := crypt.NewKeyring(map[string][]byte{"k1": bytes.Repeat([]byte{7}, 32)}, "k1")
	if err != nil {
		t.Fatal(err)
	}
	l := open(t, &ledger.Options{Cipher: ring})
	c := commit(t, l, &ledger.Draft{Thread: "t", Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting}, Gates: []posthouse.Gate{{Name: "refund", Text: "Refund secret-parcel?"}}})
	if have := face(t, l, "t").Now; have != "Refund secret-parcel?" {
		t.Errorf("with the key now is %q", have)
	}
	for info, err := range l.Store().Threads(t.Context(), posthouse.ThreadQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		data, _ := info.MarshalBinary()
		if bytes.Contains(data, []byte("secret-parcel")) {
			t.Error("the summary has the text in clear")
		}
	}
	if _, err := l.Decide(t.Context(), c.Gates[0].ID, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"}); err != nil {
		t.Fatal(err)
	}
	commit(t, l, &ledger.Draft{Thread: "t", Checkpoint: noted("secret-note")})
	if have := face(t, l, "t").Now; have != "secret-note" {
		t.Errorf("with the key now is %q", have)
	}
}

// TestARemovedTextIsGone: a note of a deleted checkpoint is in no list.
func TestARemovedTextIsGone(t *testing.T) {
	l := open(t, nil)
	commit(t, l, &ledger.Draft{Thread: "t", Checkpoint: &posthouse.Change{Kind: posthouse.KindInput, Status: posthouse.StatusDone}})
	c := commit(t, l, &ledger.Draft{Thread: "t", Checkpoint: noted("secret-note")})
	if have := face(t, l, "t").Now; have != "secret-note" {
		t.Fatalf("now is %q", have)
	}
	if _, err := retain.Delete(t.Context(), l, c.Checkpoint.ID, nil); err != nil {
		t.Fatal(err)
	}
	if have := face(t, l, "t").Now; have != "" {
		t.Errorf("after the removal now is %q", have)
	}
}

// TestCount counts by status, with the filters of a list, up to a bound.
func TestCount(t *testing.T) {
	l := open(t, nil)
	for i := range 7 {
		commit(t, l, &ledger.Draft{Thread: fmt.Sprint("t", i), Checkpoint: &posthouse.Change{
			Kind: posthouse.KindInput, Status: []posthouse.Status{posthouse.StatusDone, posthouse.StatusFailed}[i%2], Labels: map[string]string{"n": fmt.Sprint(i / 4)},
		}})
	}
	for _, c := range []struct {
		q    posthouse.ThreadQuery
		most int
		want string
	}{
		{posthouse.ThreadQuery{}, 100, "map[done:4 failed:3]"},
		{posthouse.ThreadQuery{Label: "n", LabelValue: "1"}, 100, "map[done:2 failed:1]"},
		{posthouse.ThreadQuery{Status: posthouse.StatusFailed, Limit: 1}, 100, "map[failed:3]"},
		{posthouse.ThreadQuery{}, 2, "map[done:2 failed:2]"},
	} {
		have, err := overview.Count(t.Context(), l, c.q, c.most)
		if err != nil || fmt.Sprint(have) != c.want {
			t.Errorf("%+v: %v, %v; want %s", c.q, have, err, c.want)
		}
	}
}

func ExampleOf() {
	ctx := context.Background()
	store := memstore.New()
	defer store.Close()
	l, err := ledger.Open(store, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer l.Close()
	_, err = l.Commit(ctx, &ledger.Draft{Thread: "order-12", Checkpoint: &posthouse.Change{
		Kind: posthouse.KindInput, Status: posthouse.StatusRunning, Next: []string{"check"}, Labels: map[string]string{"customer": "acme"},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for t, err := range l.Threads(ctx, posthouse.ThreadQuery{Text: "acme", Newest: true}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		f, err := overview.Of(ctx, l, t)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(t.Thread, t.Status, t.Labels["customer"], f.Now, f.Unknown)
	}
	// Output: order-12 running acme check 0
}

func TestNarrow(t *testing.T) {
	for _, c := range []struct{ label, search, field string }{
		{"", "", ""}, {"a=b", "acme", ""}, {"a=", "", ""}, {"a", "", "label"}, {"=b", "", "label"}, {"", strings.Repeat("x", posthouse.MaxID+1), "q"},
	} {
		var q posthouse.ThreadQuery
		err := overview.Narrow(&q, c.label, c.search)
		var e *posthouse.Error
		if c.field == "" && err != nil || c.field != "" && (!errors.As(err, &e) || e.Code != posthouse.CodeInvalid || e.Field != c.field) {
			t.Errorf("label %q, text %.10q: %v, want field %q", c.label, c.search, err, c.field)
		}
	}
}
