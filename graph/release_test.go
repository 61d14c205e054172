package graph_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

func versions[S any](t *testing.T, a *graph.App[S], thread string) (have []string) {
	t.Helper()
	for r, err := range a.Versions(t.Context(), thread) {
		if err != nil {
			t.Fatal(err)
		}
		have = append(have, fmt.Sprint(r.Version, r.Tags))
	}
	return have
}

// Each release is a version that stays as it was; the name starts over.
func TestAppKeepsVersions(t *testing.T) {
	a := compile(t, counting(2), newLedger(t), nil)
	must.Get(a.Run(t.Context(), "t", counter{Note: "one"}))(t)
	v := must.Get(a.Release(t.Context(), "t", &ledger.ReleaseOptions{Tags: []string{"first"}, By: "alice"}))(t)
	if v.Version != 1 || v.State.State.Steps != 2 || v.State.State.Note != "one" {
		t.Fatalf("version %+v", v)
	}
	if len(history(t, a, "t")) != 0 {
		t.Fatal("a released thread has a history")
	}
	_, err := a.Release(t.Context(), "t", nil)
	must.Fail(t, err, posthouse.ErrNotFound)
	must.Get(a.Run(t.Context(), "t", counter{Note: "two", Steps: 5}))(t)
	must.Get(a.Release(t.Context(), "t", nil))(t)
	must.Get(a.Run(t.Context(), "t", counter{Note: "three"}))(t)

	wantList(t, "versions", versions(t, a, "t"), "2 []", "1 [first]")
	for name, note := range map[string]string{"1": "one", "first": "one", "2": "two", "": "two"} {
		if v := must.Get(a.Version(t.Context(), "t", name))(t); v.State.State.Note != note {
			t.Errorf("version %q: %+v", name, v.State.State)
		}
	}
	_, err = a.Version(t.Context(), "t", "7")
	must.Fail(t, err, posthouse.ErrNotFound)
	old := history(t, a, "t", graph.HistoryOptions{Version: 1})
	wantList(t, "history of version 1", kinds(old), "node agent_1", "node agent_1", "input")
	wantList(t, "history of version 2", kinds(history(t, a, "t", graph.HistoryOptions{Version: 2})), "node agent_1", "input")
	if s := must.Get(a.State(t.Context(), "t", graph.StateOptions{Version: 1}))(t); s.ID != old[0].ID {
		t.Fatalf("state %+v", s)
	}
	if s := must.Get(a.State(t.Context(), "t", graph.StateOptions{Version: 2, Node: "agent_1"}))(t); s.State.Note != "two" {
		t.Fatalf("state %+v", s)
	}
	for _, o := range []graph.StateOptions{{Version: 9}, {Version: 1, Branch: "nobody"}, {Version: 1, Node: "nobody"}} {
		_, err = a.State(t.Context(), "t", o)
		must.Fail(t, err, posthouse.ErrNotFound)
	}
	if s := must.Get(a.State(t.Context(), "t"))(t); s.State.Note != "three" {
		t.Fatalf("state %+v", s)
	}
}

func TestAppReleasesByHand(t *testing.T) {
	a := compile(t, chatting(), newLedger(t), nil)
	out := must.Get(a.Run(t.Context(), "", chat{Messages: []message{{"user", "weather?"}}}))(t)
	v := must.Get(a.Release(t.Context(), "", nil))(t)
	if v.Thread != posthouse.DefaultThread || v.State.ID != out.Checkpoint || v.State.State.last() != out.State.last() {
		t.Fatalf("version %+v", v)
	}
	_, err := a.State(t.Context(), "")
	must.Fail(t, err, posthouse.ErrNotFound)
	_, err = a.Resume(t.Context(), "")
	must.Fail(t, err, posthouse.ErrNotFound)
}

func TestCheckpointSaverWithAutoRelease(t *testing.T) {
	a := compile(t, chatting(), newLedger(t), &graph.CompileOptions{
		InterruptBefore: []string{"tools"}, Release: graph.AutoRelease{Done: true, Tags: []string{"auto"}},
	})
	out := must.Get(a.Run(t.Context(), "t", chat{Messages: []message{{"user", "weather?"}}}))(t)
	if out.Release != nil || out.Status != posthouse.StatusInterrupted {
		t.Fatalf("an interrupted thread was released: %+v", out)
	}
	events, _ := collect(t, a.ResumeStream(t.Context(), "t"))
	last := events[len(events)-1].Result
	if last.Release == nil || last.Release.Version != 1 || last.State.last().Text != "the weather is cold" {
		t.Fatalf("result %+v", last)
	}
	_, err := a.State(t.Context(), "t")
	must.Fail(t, err, posthouse.ErrNotFound)
	if v := must.Get(a.Version(t.Context(), "t", "auto"))(t); v.State.State.last().Text != "the weather is cold" {
		t.Fatalf("version %+v", v)
	}
	out = must.Get(a.Run(t.Context(), "t", chat{Messages: []message{{"user", "hi"}}}, graph.RunOptions{Release: &graph.AutoRelease{}}))(t)
	if out.Release != nil || len(out.State.Messages) != 2 {
		t.Fatalf("result %+v", out)
	}
}

// A failure is released only if told so, and says that it failed; while another
// branch is open nothing is released.
func TestReleaseOnError(t *testing.T) {
	g := graph.New[trail]("failing")
	g.Node("a", func(context.Context, *trail) error { return errors.New("boom") })
	g.Edge(graph.Start, "a")
	g.Edge("a", graph.End)
	l := newLedger(t)
	a := compile(t, g, l, &graph.CompileOptions{Release: graph.AutoRelease{Done: true}})
	_, err := a.Run(t.Context(), "t", trail{})
	var n *graph.NodeError
	if !errors.As(err, &n) || len(versions(t, a, "t")) != 0 {
		t.Fatal(err)
	}
	must.Get(a.Fork(t.Context(), n.Checkpoint, nil))(t)
	both := graph.RunOptions{Release: &graph.AutoRelease{Failed: true}}
	_, err = a.Resume(t.Context(), "t", both)
	if !errors.As(err, &n) || len(versions(t, a, "t")) != 0 {
		t.Fatal("released with an open branch", err)
	}
	must.Get(a.Update(t.Context(), "t", nil, graph.UpdateOptions{Branch: "fork-1", Goto: graph.End}))(t)
	_, err = a.Resume(t.Context(), "t", both)
	if !errors.As(err, &n) {
		t.Fatal(err)
	}
	if v := must.Get(a.Version(t.Context(), "t", ""))(t); !v.Failed || v.Reason != "boom" || v.State.Status != posthouse.StatusFailed {
		t.Fatalf("version %+v", v)
	}
}

// The two Postgres cases of LangGraph4j: read by another process, a released
// thread has no history, one that was not released has all of it and takes an
// update that is still there after the next start.
func TestCheckpointWithReleasedAndNotReleasedThread(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	session := func(do func(*graph.App[counter])) {
		t.Helper()
		s := must.Get(sqlitestore.Open(t.Context(), path, nil))(t)
		l := must.Get(ledger.Open(s, nil))(t)
		do(compile(t, counting(1), l, nil))
		if err := errors.Join(l.Close(), s.Close()); err != nil {
			t.Fatal(err)
		}
	}
	session(func(a *graph.App[counter]) {
		for _, thread := range []string{"released", "kept"} {
			must.Get(a.Run(t.Context(), thread, counter{Note: "n"}))(t)
		}
		must.Get(a.Release(t.Context(), "released", nil))(t)
	})
	session(func(a *graph.App[counter]) {
		if n := len(history(t, a, "released")); n != 0 {
			t.Fatalf("%d checkpoints of a released thread", n)
		}
		if n := len(history(t, a, "kept")); n != 2 {
			t.Fatalf("%d checkpoints", n)
		}
		must.Get(a.Update(t.Context(), "kept", func(s *counter) { s.Note = "updated" }))(t)
	})
	session(func(a *graph.App[counter]) {
		if s := must.Get(a.State(t.Context(), "kept"))(t); s.State.Note != "updated" || s.State.Steps != 1 {
			t.Fatalf("state %+v", s.State)
		}
	})
}

// Runs on many threads at once lose no checkpoint.
func TestIssue105(t *testing.T) {
	a := compile(t, counting(5), newLedger(t), nil)
	var wg sync.WaitGroup
	errs := make([]error, 50)
	for i := range errs {
		wg.Go(func() { _, errs[i] = a.Run(t.Context(), fmt.Sprint("t", i), counter{}) })
	}
	wg.Wait()
	for i, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
		if h := history(t, a, fmt.Sprint("t", i)); len(h) != 6 || h[0].State.Steps != 5 {
			t.Fatalf("thread %d: %q", i, kinds(h))
		}
	}
}

// A copy has the history under new ids and goes on by itself.
func TestCopyAndCompare(t *testing.T) {
	a := compile(t, line("a", "b"), newLedger(t), &graph.CompileOptions{InterruptBefore: []string{"b"}})
	must.Get(a.Run(t.Context(), "t", trail{N: 1}))(t)
	c := must.Get(a.Copy(t.Context(), "t", "copy", nil))(t)
	if c.Thread != "copy" || c.State.N != 1 || c.Source == nil {
		t.Fatalf("copy %+v", c)
	}
	must.Get(a.Update(t.Context(), "copy", func(s *trail) { s.N = 2; s.Go = "x" }))(t)
	out := must.Get(a.Resume(t.Context(), "copy"))(t)
	wantList(t, "nodes of the copy", out.State.Nodes, "a", "b")
	first := must.Get(a.State(t.Context(), "t"))(t)
	if first.State.N != 1 || len(first.State.Nodes) != 1 {
		t.Fatalf("the original changed: %+v", first.State)
	}
	d := must.Get(a.Compare(t.Context(), first.ID, out.Checkpoint))(t)
	wantList(t, "fields", d.Fields, "Nodes", "Go", "N")
	if d.From.State.N != 1 || d.To.State.N != 2 || len(d.Parts) != 3 {
		t.Fatalf("comparison %+v", d)
	}
	must.Get(a.Fork(t.Context(), first.ID, nil, graph.ForkOptions{Branch: "mine"}))(t)
	var names []string
	for _, b := range must.Get(a.Branches(t.Context(), "t"))(t) {
		names = append(names, b.Branch)
	}
	wantList(t, "branches", names, "main", "mine")
	_, err := a.Compare(t.Context(), first.ID, "nobody")
	must.Fail(t, err, posthouse.ErrNotFound)
}

// History filters, in either direction, by pages.
func TestHistoryFilters(t *testing.T) {
	a := compile(t, line("a", "b"), newLedger(t), &graph.CompileOptions{InterruptBefore: []string{"b"}})
	out := must.Get(a.Run(t.Context(), "t", trail{}))(t)
	must.Get(a.Resume(t.Context(), "t"))(t)
	for want, o := range map[string]graph.HistoryOptions{
		"[input node a node b]": {Oldest: true},
		"[node a input]":        {Run: out.Run},
		"[node b]":              {Status: posthouse.StatusDone},
		"[node a]":              {Status: posthouse.StatusInterrupted},
		"[]":                    {Label: "none", Value: "x"},
	} {
		if have := fmt.Sprint(kinds(history(t, a, "t", o))); have != want {
			t.Errorf("%+v: %s, want %s", o, have, want)
		}
	}
	h := history(t, a, "t")
	if n := len(history(t, a, "t", graph.HistoryOptions{Since: h[0].CreatedAt, Until: h[0].CreatedAt})); n == 0 {
		t.Error("nothing at the time of the head")
	}
	if n := len(history(t, a, "t", graph.HistoryOptions{Until: h[2].CreatedAt.Add(-1e9)})); n != 0 {
		t.Errorf("%d before the thread", n)
	}
}
