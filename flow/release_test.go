package flow_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
)

// adding is a flow that adds a step's number to what it returned before, and
// fails for a negative input.
func adding(w *world, o *flow.Options) *flow.App[int, int] {
	return app(w, func(ctx context.Context, n int) (int, error) {
		before, _, err := flow.Previous[int](ctx)
		if err != nil {
			return 0, err
		}
		if _, err := w.do(ctx, "look"); err != nil {
			return 0, err
		}
		if n < 0 {
			return 0, errBoom
		}
		return before + n, nil
	}, o)
}

func versions[In, Out any](t *testing.T, a *flow.App[In, Out], thread string) string {
	t.Helper()
	var have []string
	for r, err := range a.Versions(t.Context(), thread) {
		if err != nil {
			t.Fatal(err)
		}
		have = append(have, fmt.Sprint(r.Version, r.Tags))
	}
	return strings.Join(have, ", ")
}

// Each release is a version that stays as it was; the name starts over.
func TestAppKeepsVersions(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	a := adding(w, nil)
	must.Get(a.Run(ctx, "t", 1))(t)
	must.Get(a.Run(ctx, "t", 1))(t)
	v := must.Get(a.Release(ctx, "t", &ledger.ReleaseOptions{Tags: []string{"first"}, By: "alice"}))(t)
	if v.Version != 1 || v.State.Output != 2 {
		t.Fatalf("version %+v", v)
	}
	if got := steps(t, a, "t"); got != "" {
		t.Fatal("a released thread has the history", got)
	}
	_, err := a.Release(ctx, "t", nil)
	must.Fail(t, err, posthouse.ErrNotFound)
	if out := must.Get(a.Run(ctx, "t", 5))(t).Output; out != 5 {
		t.Errorf("what was released is taken over: %d", out)
	}
	must.Get(a.Release(ctx, "t", nil))(t)
	must.Get(a.Run(ctx, "t", 7))(t)
	if got := versions(t, a, "t"); got != "2 [], 1 [first]" {
		t.Error("versions", got)
	}
	for name, out := range map[string]int{"1": 2, "first": 2, "2": 5, "": 5} {
		if v := must.Get(a.Version(ctx, "t", name))(t); v.State.Output != out {
			t.Errorf("version %q: %+v", name, v.State)
		}
	}
	_, err = a.Version(ctx, "t", "7")
	must.Fail(t, err, posthouse.ErrNotFound)
	if got := steps(t, a, "t", flow.HistoryOptions{Version: 1}); got != "input look node input look node " {
		t.Error("history of version 1", got)
	}
	if s := must.Get(a.State(ctx, "t", flow.StateOptions{Version: 2}))(t); s.Output != 5 || s.Status != posthouse.StatusDone {
		t.Errorf("state %+v", s)
	}
	if s := must.Get(a.State(ctx, "t", flow.StateOptions{Version: 2, Node: "look"}))(t); s.Input != 5 || s.Node != "look" {
		t.Errorf("state %+v", s)
	}
	for _, o := range []flow.StateOptions{{Version: 9}, {Version: 1, Branch: "nobody"}, {Version: 1, Node: "nobody"}} {
		_, err = a.State(ctx, "t", o)
		must.Fail(t, err, posthouse.ErrNotFound)
	}
	if s := must.Get(a.State(ctx, "t"))(t); s.Output != 7 {
		t.Errorf("state %+v", s)
	}
	_, err = must.Get(flow.New("other", func(context.Context, int) (int, error) { return 1, nil }).Open(w.ledger(), nil))(t).Release(ctx, "t", nil)
	must.Fail(t, err, posthouse.ErrInvalid)
}

func TestAutoReleaseAtTheEnd(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	a := app(w, order(w), &flow.Options{HoldFor: -1, Release: flow.AutoRelease{Done: true, Tags: []string{"auto"}}})
	out := must.Get(a.Run(ctx, "", "book"))(t)
	if out.Release != nil || out.Status != posthouse.StatusWaiting {
		t.Fatalf("a thread that waits was released: %+v", out)
	}
	approve(t, w.ledger(), out.Waiting[0].ID)
	events, list, err := heard(t, a.ResumeStream(ctx, ""), told)
	wantTold(t, "events", list, "node ship, node order, end order")
	last := events[len(events)-1]
	if err != nil || last.Result.Release == nil || last.Result.Release.Version != 1 || last.Output != "book charge1 ship1" {
		t.Fatalf("last %+v, error %v", last, err)
	}
	_, err = a.State(ctx, "")
	must.Fail(t, err, posthouse.ErrNotFound)
	if v := must.Get(a.Version(ctx, "", "auto"))(t); v.State.Output != "book charge1 ship1" || v.Thread != posthouse.DefaultThread {
		t.Fatalf("version %+v", v)
	}
	approve(t, w.ledger(), must.Get(a.Run(ctx, "", "lamp"))(t).Waiting[0].ID)
	h := must.Get(a.ResumeStart(ctx, "", flow.RunOptions{Release: &flow.AutoRelease{}}))(t)
	if out := must.Get(h.Result())(t); out.Release != nil || out.Status != posthouse.StatusDone {
		t.Fatalf("result %+v", out)
	}
}

// A failure is released only if told so, and says that it failed; while another
// branch is open nothing is released.
func TestReleaseOnError(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	a := adding(w, &flow.Options{Release: flow.AutoRelease{Done: true}})
	_, err := a.Run(ctx, "t", -1)
	var failed *flow.Error
	if !errors.As(err, &failed) || versions(t, a, "t") != "" {
		t.Fatal(err)
	}
	fork := must.Get(a.Fork(ctx, failed.Checkpoint, func(in *int) { *in = 4 }))(t)
	both := flow.RunOptions{Release: &flow.AutoRelease{Failed: true}}
	_, err = a.Resume(ctx, "t", both)
	if !errors.As(err, &failed) || versions(t, a, "t") != "" {
		t.Fatal("released with an open branch", err)
	}
	if out := must.Get(a.Resume(ctx, "t", flow.RunOptions{Branch: fork.Branch}))(t); out.Output != 4 || out.Release != nil {
		t.Fatalf("released with a failed branch: %+v", out)
	}
	_, err = a.Resume(ctx, "t", both)
	if !errors.As(err, &failed) {
		t.Fatal(err)
	}
	if v := must.Get(a.Version(ctx, "t", ""))(t); !v.Failed || v.Reason != "boom" || v.State.Status != posthouse.StatusFailed {
		t.Fatalf("version %+v", v)
	}
}

// A request that is sent again is answered from the record; the thread has gone
// on since, and is not released for it.
func TestOldResultReleasesNothing(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	a := adding(w, nil)
	must.Get(a.Run(ctx, "t", 1, flow.RunOptions{Run: "one"}))(t)
	if _, err := a.Run(ctx, "t", -1, flow.RunOptions{Run: "two"}); !errors.Is(err, errBoom) {
		t.Fatal(err)
	}
	again := must.Get(a.Run(ctx, "t", 1, flow.RunOptions{Run: "one", Release: &flow.AutoRelease{Done: true}}))(t)
	if again.Output != 1 || again.Release != nil || versions(t, a, "t") != "" {
		t.Fatalf("again %+v", again)
	}
}

// A lossy store loses its process before what it is told to lose.
type lossy struct {
	posthouse.Store
	lose func(*posthouse.Record) bool
}

func (s *lossy) Append(ctx context.Context, b *posthouse.Batch) error {
	recs, err := b.Entry.Records()
	if err != nil {
		return err
	}
	if slices.ContainsFunc(recs, func(r posthouse.Record) bool { return s.lose(&r) }) {
		return errBoom
	}
	return s.Store.Append(ctx, b)
}

func (s *lossy) Close() error { return nil }

// A process that dies between the end and the release leaves the thread done;
// resuming it, or sending the request again, makes up for it.
func TestReleaseThatWasLost(t *testing.T) {
	for _, again := range []string{"resume", "run"} {
		w, ctx := newWorld(t), t.Context()
		o := &flow.Options{Release: flow.AutoRelease{Done: true}}
		store := w.store
		w.store = &lossy{store, func(r *posthouse.Record) bool { return r.Release != nil }}
		if _, err := adding(w, o).Run(ctx, "t", 3, flow.RunOptions{Run: "r"}); !errors.Is(err, errBoom) {
			t.Fatal(err)
		}
		w.store = store
		a := adding(w, o)
		if s := must.Get(a.State(ctx, "t"))(t); s.Status != posthouse.StatusDone {
			t.Fatalf("%+v", s)
		}
		var out *flow.Result[int]
		if again == "resume" {
			out = must.Get(a.Resume(ctx, "t"))(t)
		} else {
			out = must.Get(a.Run(ctx, "t", 3, flow.RunOptions{Run: "r"}))(t)
		}
		if out.Output != 3 || out.Release == nil || versions(t, a, "t") != "1 []" {
			t.Errorf("%s: output %+v", again, out)
		}
		w.want("[look]")
	}
}

func TestCopyCompareAndBranches(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	a := adding(w, nil)
	first := must.Get(a.Run(ctx, "", 1))(t)
	second := must.Get(a.Run(ctx, "", 2))(t)
	d := must.Get(a.Compare(ctx, first.Checkpoint, second.Checkpoint))(t)
	if d.From.Output != 1 || d.To.Output != 3 || d.To.Input != 2 || d.Ancestor != first.Checkpoint || len(d.Parts) != 2 {
		t.Errorf("%+v", d)
	}
	_, err := a.Compare(ctx, first.Checkpoint, "nobody")
	must.Fail(t, err, posthouse.ErrNotFound)

	c := must.Get(a.Copy(ctx, "", "copy", nil))(t)
	if c.Thread != "copy" || c.Output != 3 || steps(t, a, "copy") != steps(t, a, "") {
		t.Errorf("the copy's head is %+v", c)
	}
	if out := must.Get(a.Run(ctx, "copy", 10))(t).Output; out != 13 {
		t.Errorf("the copy goes on with %d", out)
	}
	must.Get(a.Replay(ctx, first.Checkpoint))(t)
	bs := must.Get(a.Branches(ctx, ""))(t)
	if len(bs) != 2 || bs[0].Branch != posthouse.MainBranch || bs[0].Head != second.Checkpoint || bs[1].Branch != "fork-1" {
		t.Errorf("branches %+v", bs)
	}
	_, err = a.Branches(ctx, "nobody")
	must.Fail(t, err, posthouse.ErrNotFound)
}

func TestHistoryIsNarrowed(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	a := adding(w, nil)
	start := w.clock()
	must.Get(a.Run(ctx, "t", 1, flow.RunOptions{Run: "one", Labels: map[string]string{"who": "alice"}}))(t)
	w.advance(time.Hour)
	_, err := a.Run(ctx, "t", -1, flow.RunOptions{Run: "two", Labels: map[string]string{"who": "bob"}})
	must.Fail(t, err, errBoom)
	for want, o := range map[string]flow.HistoryOptions{
		"input look node ":  {Run: "one"},
		"input look fail ":  {Since: start.Add(time.Minute)},
		"input look  node ": {Until: start.Add(time.Minute)},
		"fail ":             {Status: posthouse.StatusFailed},
		"input ":            {Label: "who", Value: "bob"},
		"look input ":       {Run: "two", Oldest: true, Limit: 2},
	} {
		if got := steps(t, a, "t", o); got != strings.ReplaceAll(want, "  ", " ") {
			t.Errorf("%+v yields %q", o, got)
		}
	}
}

// A barred store takes no entries of one thread.
type barred struct {
	posthouse.Store
	thread string
}

func (s *barred) Append(ctx context.Context, b *posthouse.Batch) error {
	if b.Thread.Thread == s.thread {
		return &posthouse.Error{Code: posthouse.CodeTooLarge, Message: "barred"}
	}
	return s.Store.Append(ctx, b)
}

// A version that stands is returned with the error that something it waited for
// goes on.
func TestReleaseReturnsTheVersionWithAnError(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	store := &barred{Store: w.store}
	w.store = store
	a, l := adding(w, nil), w.ledger()
	must.Get(a.Run(ctx, "t", 3))(t)
	must.Get(l.Commit(ctx, &ledger.Draft{Thread: "called", Gates: []posthouse.Gate{{Name: "ask"}}, Checkpoint: &posthouse.Change{Status: posthouse.StatusWaiting}}))(t)
	must.Get(l.Commit(ctx, &ledger.Draft{
		Thread: "t", Gates: []posthouse.Gate{{Name: "call", Kind: posthouse.GateThread, Text: "called", ExpiresAt: l.Now().Add(time.Hour)}},
		Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting},
	}))(t)
	store.thread = "called"
	v, err := a.Release(ctx, "t", nil)
	must.Fail(t, err, posthouse.ErrTooLarge)
	if v == nil || v.Version != 1 || v.State == nil || v.State.Status != posthouse.StatusWaiting {
		t.Fatalf("version %+v", v)
	}
}
