package posthouse_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
)

// TestWhatIsRememberedIsBounded saves more threads than a Ledger remembers: it
// lets the older go, goes on with them all the same, and counts what it holds.
func TestWhatIsRememberedIsBounded(t *testing.T) {
	ctx, l := context.Background(), open(t, nil)
	claim := must[*posthouse.Claim](t)(l.Claim(ctx, "claimed", "run"))
	save := func(i int) {
		t.Helper()
		must[*posthouse.Committed](t)(l.Commit(ctx, &posthouse.Draft{Thread: fmt.Sprint("t", i), Checkpoint: &posthouse.Change{
			Parts: []posthouse.Part{{Name: "a", Codec: "raw", Data: []byte(strings.Repeat("x", 100))}},
		}}))
	}
	for i := range posthouse.MaxThreads + 100 {
		save(i)
	}
	threads, bytes := l.Cached()
	if threads > posthouse.MaxThreads || bytes != 100*(threads-1) {
		t.Errorf("%d threads and %d bytes are remembered", threads, bytes)
	}
	save(0)
	if _, err := l.Claim(ctx, "claimed", "another"); !errors.Is(err, posthouse.ErrBusy) {
		t.Errorf("a claim was let go: %v", err)
	}
	must[*posthouse.Committed](t)(l.Commit(ctx, &posthouse.Draft{Thread: "claimed", Claim: claim, Checkpoint: &posthouse.Change{}}))
	for range 15 {
		l.LetGo()
	}
	if threads, bytes = l.Cached(); threads > 9 || bytes != 100*(threads-1) {
		t.Errorf("%d threads and %d bytes are remembered after letting go", threads, bytes)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Commit(ctx, &posthouse.Draft{Thread: "t", Checkpoint: &posthouse.Change{}}); !errors.Is(err, posthouse.ErrClosed) {
		t.Errorf("after Close: %v, want ErrClosed", err)
	}
}

// TestManyStepsBeforeACheckpoint records more results than are remembered: the
// state that takes them up is whole, whether it refers to them or holds them.
func TestManyStepsBeforeACheckpoint(t *testing.T) {
	ctx, l := context.Background(), open(t, nil)
	must[*posthouse.Committed](t)(l.Commit(ctx, &posthouse.Draft{Thread: "t", Checkpoint: &posthouse.Change{}}))
	var all strings.Builder
	for i := range 400 {
		result := fmt.Sprintf("%04d %s;", i, strings.Repeat("r", 100))
		all.WriteString(result)
		must[*posthouse.Committed](t)(l.Commit(ctx, &posthouse.Draft{Thread: "t", Steps: []posthouse.Step{{
			Task: "1/n", Name: "s", Occurrence: uint32(i), Value: posthouse.Value{Codec: "raw", Data: []byte(result)},
		}}}))
	}
	_, held := l.Cached()
	if held > 256*106 {
		t.Errorf("%d bytes of results are remembered", held)
	}
	done := must[*posthouse.Committed](t)(l.Commit(ctx, &posthouse.Draft{Thread: "t", Checkpoint: &posthouse.Change{
		Parts: []posthouse.Part{{Name: "log", Codec: "raw", Data: []byte(all.String())}},
	}}))
	got := must[*posthouse.Checkpoint](t)(l.Get(ctx, done.Checkpoint.ID))
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
