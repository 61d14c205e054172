package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/examples/internal/crash"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

// topics of the tests, more than run at once; "fig" is on a busy shelf.
var topics = []string{"fig", "ant", "bee", "cat", "dog", "elk", "gnu", "hen", "ibis"}

// quiet is a library that notes what it has read, with a shelf that is busy at
// first.
func quiet(note func(string)) library {
	var busy atomic.Int32
	return func(ctx context.Context, topic string) (string, string, error) {
		if topic == "fig" && busy.Add(1) <= 2 {
			return "", "", errBusy
		}
		note(topic)
		return "all about " + topic, "shelf " + string('A'+topic[0]%2), nil
	}
}

func TestMain(m *testing.M) {
	ctx := context.Background()
	store, err := crash.Started(ctx)
	if store == nil && err == nil {
		goleak.VerifyTestMain(m) // exits
	}
	if err == nil {
		out, failed := work(ctx, store, quiet(store.Note), os.Args[1:])
		err = errors.Join(failed, store.Close())
		if err == nil {
			s := out.State
			fmt.Println(out.Status, s.Words, s.Sources, s.Longest, s.Trust.Count, len(s.Findings), s.Findings[0].Topic, s.Report[:17])
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// TestSourcesAreReadOnce kills the process after each of its commits: the
// four tasks that run at that moment may be read again, those with a recorded
// result may not.
func TestSourcesAreReadOnce(t *testing.T) {
	const want = "done 27 [shelf B shelf A] all about ibis 9 9 ant Report, version 2\n"
	for n := 1; ; n++ {
		path := filepath.Join(t.TempDir(), "research.db")
		out, killed, err := crash.Run(t.Context(), path, n, topics...)
		if err != nil {
			t.Fatal(err)
		}
		if !killed {
			if out != want || n < 10 {
				t.Errorf("behind %d commits: %q", n-1, out)
			}
			return
		}
		recorded := recordedTasks(t, path)
		before, err := crash.Notes(path)
		if err != nil {
			t.Fatal(err)
		}
		out, _, err = crash.Run(t.Context(), path, 0)
		if err != nil || out != want {
			t.Errorf("killed behind commit %d: %v, %q", n, err, out)
		}
		all, err := crash.Notes(path)
		if err != nil {
			t.Fatal(err)
		}
		if after := all[len(before):]; len(after) != len(topics)-recorded {
			t.Errorf("killed behind commit %d: %d of %d were on record, and then it read %q", n, recorded, len(topics), after)
		}
	}
}

func TestNoMoreAtOnceThanWasSaid(t *testing.T) {
	var now, most atomic.Int32
	many := make([]string, 200)
	for i := range many {
		many[i] = fmt.Sprintf("t%03d", i)
	}
	out, err := work(t.Context(), memstore.New(), func(ctx context.Context, topic string) (string, string, error) {
		n := now.Add(1)
		defer now.Add(-1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		return "x", "y", nil
	}, many)
	if err != nil || most.Load() > 4 || out.State.Words != 200 || !slices.Equal(out.State.Sources, []string{"y"}) {
		t.Errorf("%d at once, %v", most.Load(), err)
	}
}

func TestAnErrorThatStaysEndsTheRunAndKeepsTheRest(t *testing.T) {
	store := memstore.New()
	down := errors.New("no such shelf")
	var read atomic.Int32
	_, err := work(t.Context(), store, func(ctx context.Context, topic string) (string, string, error) {
		if topic == "cat" && down != nil {
			return "", "", down
		}
		read.Add(1)
		return "x", "y", nil
	}, topics)
	if !errors.Is(err, down) {
		t.Fatal(err)
	}
	down = nil
	first := read.Load()
	out, err := work(t.Context(), store, func(ctx context.Context, topic string) (string, string, error) {
		read.Add(1)
		return "x", "y", nil
	}, nil)
	if err != nil || out.Status != posthouse.StatusDone || int(read.Load()) != len(topics) {
		t.Errorf("%v: %d topics read, then %d of %d", err, first, read.Load(), len(topics))
	}
	if !strings.Contains(out.State.Report, "- cat: x") {
		t.Error(out.State.Report)
	}
}

// recordedTasks counts the topics with results on record: each by itself until
// the step is complete, then all in its checkpoint.
func recordedTasks(t *testing.T, path string) (n int) {
	t.Helper()
	store, err := sqlitestore.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	led, err := ledger.Open(store, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer led.Close()
	for e, err := range led.Log(t.Context(), "research", posthouse.Range{}) {
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range e.Records {
			switch {
			case r.Checkpoint != nil && r.Checkpoint.Node == "read":
				return len(topics)
			case r.Step != nil && r.Step.Name == "$done":
				n++
			}
		}
	}
	return n
}
