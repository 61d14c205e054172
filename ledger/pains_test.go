package ledger_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/store/memstore"
)

// stored counts the bytes of all bodies in the store.
func stored(t *testing.T, s *memstore.Store) (n int64) {
	t.Helper()
	for info := range s.Threads(t.Context(), posthouse.ThreadQuery{}) {
		for e, err := range s.Read(t.Context(), info.Thread, posthouse.Range{}) {
			if err != nil {
				t.Fatal(err)
			}
			for _, b := range e.Bodies {
				n += int64(len(b))
			}
		}
	}
	return n
}

// TestRetentionReturnsWhatHistoriesTook is what users of savers without
// retention write cron jobs of SQL for: a policy by age and number, per thread,
// that keeps the last, the tagged and the heads, says beforehand how much it
// frees, and frees it.
func TestRetentionReturnsWhatHistoriesTook(t *testing.T) {
	ctx, store := context.Background(), memstore.New()
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	l := must.Get(ledger.Open(store, &ledger.Options{Now: func() time.Time { return now }}))(t)
	for _, thread := range []string{"a", "b"} {
		for i := range 200 {
			c := &posthouse.Change{Parts: []posthouse.Part{{Name: "draft", Codec: "raw", Data: []byte(strings.Repeat(fmt.Sprint(i, " "), 500))}}}
			if i == 100 {
				c.Labels = map[string]string{"milestone": "1"}
			}
			now = now.Add(time.Hour)
			must.Get(l.Commit(ctx, &ledger.Draft{Thread: thread, Checkpoint: c}))(t)
		}
	}
	before := stored(t, store)
	r := retain.Policy{MaxAge: 24 * time.Hour, KeepLast: 10, KeepLabels: map[string]string{"milestone": ""}, Prefix: "a"}
	dry := must.Get(retain.Run(ctx, l, r, &retain.Options{DryRun: true}))(t)
	if stored(t, store) != before {
		t.Fatal("a dry run removed something")
	}
	done := must.Get(retain.Run(ctx, l, r, nil))(t)
	freed := before - stored(t, store)
	if done.Checkpoints != 189 || done.Bytes != dry.Bytes || freed <= 0 {
		t.Errorf("%+v, after a dry run that said %+v; the bodies are %d bytes less", done, dry, freed)
	}
	if record := done.Bytes - freed; record < 0 || record > done.Bytes/10 {
		t.Errorf("it frees %d bytes and takes %d to say so", done.Bytes, record)
	}
	n := 0
	for h, err := range l.List(ctx, posthouse.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		must.Get(l.Get(ctx, h.ID))(t)
		n++
	}
	if n != 211 {
		t.Errorf("%d checkpoints are left, want 200 of b, the last 10 and a milestone of a", n)
	}
}

// TestAForkNeverSeesTheBranchItLeft is where savers that rebuild a state from
// the writes of a shared parent go wrong: a fork shows what the abandoned branch
// wrote, and a prune empties it.
func TestAForkNeverSeesTheBranchItLeft(t *testing.T) {
	ctx, l := context.Background(), open(t, nil)
	say := func(branch, text string) *posthouse.Header {
		t.Helper()
		d := &ledger.Draft{Thread: "t", Branch: branch, Checkpoint: &posthouse.Change{Kind: posthouse.KindNode}}
		head, err := l.Latest(ctx, ledger.LatestQuery{Thread: "t", Branch: branch})
		part := posthouse.Part{Name: "messages", Data: []byte(`["` + text + `"]`)}
		if err == nil {
			old := len(head.State["messages"].Data)
			part = posthouse.Part{Name: "messages", Splice: true, Prefix: old - 1, Suffix: 1, Data: []byte(`,"` + text + `"`)}
		}
		d.Checkpoint.Parts = []posthouse.Part{part}
		return must.Get(l.Commit(ctx, d))(t).Checkpoint
	}
	want := func(branch, messages string) {
		t.Helper()
		c := must.Get(l.Latest(ctx, ledger.LatestQuery{Thread: "t", Branch: branch}))(t)
		if got := string(c.State["messages"].Data); got != messages {
			t.Errorf("branch %s says %s, want %s", branch, got, messages)
		}
	}
	say("", "a")
	b := say("", "b")
	say("", "abandoned")
	must.Get(l.Fork(ctx, b.ID, &ledger.ForkOptions{Branch: "other"}))(t)
	say("other", "d")
	say("", "still abandoned")
	check := func() {
		t.Helper()
		want("", `["a","b","abandoned","still abandoned"]`)
		want("other", `["a","b","d"]`)
	}
	check()
	must.Get(retain.Run(ctx, l, retain.Policy{MaxPerThread: 1, DropSources: true}, nil))(t)
	fresh := must.Get(ledger.Open(l.Store(), nil))(t)
	l = fresh
	check()
	say("other", "e")
	want("other", `["a","b","d","e"]`)
}

// TestRetainEvery applies a policy again and again, until it is told to stop.
func TestRetainEvery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		l := open(t, nil)
		ended := make(chan error)
		go func() { ended <- retain.Every(ctx, l, retain.Policy{MaxPerThread: 1}, time.Hour) }()
		left := func() (n int) {
			for range l.List(ctx, posthouse.Query{}) {
				n++
			}
			return n
		}
		for range 3 {
			c := must.Get(l.Save(ctx, posthouse.Root("t", opaque(t, 1)), nil))(t)
			must.Get(l.Save(ctx, c.Derive(opaque(t, 2)), nil))(t)
			<-time.After(61 * time.Minute) // of the bubble's clock
			synctest.Wait()
			if n := left(); n != 1 {
				t.Errorf("after an hour there are %d checkpoints", n)
			}
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
