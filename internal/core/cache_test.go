package core_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/core"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
)

// TestCacheOfThreadsIsBounded saves more threads than a Ledger remembers: it
// lets the older go, goes on with them all the same, and counts what it holds.
func TestCacheOfThreadsIsBounded(t *testing.T) {
	ctx, l := context.Background(), open(t, nil)
	claim := must.Get(l.Claim(ctx, "claimed", "run"))(t)
	save := func(i int) {
		t.Helper()
		must.Get(l.Commit(ctx, &ledger.Draft{Thread: fmt.Sprint("t", i), Checkpoint: &posthouse.Change{
			Parts: []posthouse.Part{{Name: "a", Codec: "raw", Data: []byte(strings.Repeat("x", 100))}},
		}}))(t)
	}
	for i := range core.MaxThreads + 100 {
		save(i)
	}
	threads, bytes := l.Core().Cached()
	if threads > core.MaxThreads+1 || bytes != 100*(threads-1) {
		t.Errorf("%d threads and %d bytes are remembered", threads, bytes)
	}
	save(0)
	if _, err := l.Claim(ctx, "claimed", "another"); !errors.Is(err, posthouse.ErrBusy) {
		t.Errorf("a claim was let go: %v", err)
	}
	must.Get(l.Commit(ctx, &ledger.Draft{Thread: "claimed", Claim: claim, Checkpoint: &posthouse.Change{}}))(t)
	for range 15 {
		l.Core().EvictIdle()
	}
	threads, bytes = l.Core().Cached()
	if threads > 9 || bytes != 100*(threads-1) {
		t.Errorf("%d threads and %d bytes are remembered after letting go", threads, bytes)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Commit(ctx, &ledger.Draft{Thread: "t", Checkpoint: &posthouse.Change{}}); !errors.Is(err, posthouse.ErrClosed) {
		t.Errorf("after Close: %v, want ErrClosed", err)
	}
}

// TestManyStepsBeforeACheckpoint records more results than are remembered: the
// state that takes them up is whole, whether it refers to them or holds them.
func TestManyStepsBeforeACheckpoint(t *testing.T) {
	ctx, l := context.Background(), open(t, nil)
	must.Get(l.Commit(ctx, &ledger.Draft{Thread: "t", Checkpoint: &posthouse.Change{}}))(t)
	var all strings.Builder
	for i := range 400 {
		result := fmt.Sprintf("%04d %s;", i, strings.Repeat("r", 100))
		all.WriteString(result)
		must.Get(l.Commit(ctx, &ledger.Draft{Thread: "t", Steps: []posthouse.Step{{
			Task: "1/n", Name: "s", Occurrence: uint32(i), Value: posthouse.Value{Codec: "raw", Data: []byte(result)},
		}}}))(t)
	}
	_, held := l.Core().Cached()
	if held > 256*106 {
		t.Errorf("%d bytes of results are remembered", held)
	}
	done := must.Get(l.Commit(ctx, &ledger.Draft{Thread: "t", Checkpoint: &posthouse.Change{
		Parts: []posthouse.Part{{Name: "log", Codec: "raw", Data: []byte(all.String())}},
	}}))(t)
	got := must.Get(l.Get(ctx, done.Checkpoint.ID))(t)
	if string(got.State["log"].Data) != all.String() {
		t.Error("the state is not what was committed")
	}
	for e, err := range l.Log(ctx, "t", posthouse.Range{From: done.Seq}) {
		if err != nil {
			t.Fatal(err)
		}
		if n, inline := len(e.Bodies[0]), (400-256)*106; n != inline {
			t.Errorf("the body has %d bytes, want %d: the rest are references", n, inline)
		}
	}
}

// TestRunsBeyondTheLimitKeepWhatTheyKnow has more runs at once than idle threads
// are remembered: no run is forgotten while others begin and end.
func TestRunsBeyondTheLimitKeepWhatTheyKnow(t *testing.T) {
	ctx, l := context.Background(), open(t, nil)
	n := core.MaxThreads + 200
	claims := make([]*ledger.Claim, n)
	commit := func(c *ledger.Claim, status posthouse.Status) {
		t.Helper()
		must.Get(l.Commit(ctx, &ledger.Draft{Thread: c.Thread, Claim: c, Checkpoint: &posthouse.Change{
			Status: status, Parts: []posthouse.Part{{Name: "a", Codec: "raw", Data: []byte(strings.Repeat("x", 100))}},
		}}))(t)
	}
	for i := range claims {
		claims[i] = must.Get(l.Claim(ctx, fmt.Sprint("t", i), "run"))(t)
		commit(claims[i], posthouse.StatusRunning)
	}
	if threads, bytes := l.Core().Cached(); threads != n || bytes != 100*n {
		t.Errorf("%d threads and %d bytes are remembered of %d runs", threads, bytes, n)
	}
	for _, c := range claims[:100] {
		commit(c, posthouse.StatusDone)
		if err := c.Release(ctx); err != nil {
			t.Fatal(err)
		}
		other := must.Get(l.Claim(ctx, "other-"+c.Thread, "run"))(t)
		commit(other, posthouse.StatusRunning)
		claims = append(claims, other)
	}
	if threads, bytes := l.Core().Cached(); threads != n+100 || bytes != 100*(n+100) {
		t.Errorf("%d threads and %d bytes are remembered", threads, bytes)
	}
	l.Core().EvictIdle() // for want of bytes
	if threads, _ := l.Core().Cached(); threads != n {
		t.Errorf("%d threads are remembered after letting go, of %d runs", threads, n)
	}
	for _, c := range claims[100:] {
		commit(c, posthouse.StatusDone)
		if err := c.Release(ctx); err != nil {
			t.Fatal(err)
		}
	}
	for i := range core.MaxThreads {
		must.Get(l.Commit(ctx, &ledger.Draft{Thread: fmt.Sprint("u", i), Checkpoint: &posthouse.Change{}}))(t)
	}
	if threads, _ := l.Core().Cached(); threads > core.MaxThreads {
		t.Errorf("%d threads are remembered when no run has one", threads)
	}
}
