package flow_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/step"
)

// entriesOf returns the hashes of a thread's entries.
func entriesOf(t *testing.T, l *ledger.Ledger, thread string) (list []string) {
	t.Helper()
	for e, err := range l.Core().Store.Read(t.Context(), thread, posthouse.Range{}) {
		must.Do(t, err)
		list = append(list, fmt.Sprint(e.Link()))
	}
	return list
}

// openOn returns the open tasks of a thread's branch.
func openOn(t *testing.T, l *ledger.Ledger, thread, branch string) (list []*posthouse.Gate) {
	t.Helper()
	for g, err := range l.Gates(t.Context(), ledger.GateQuery{Thread: thread, Kind: posthouse.GateTask}) {
		must.Do(t, err)
		if g.Branch == branch {
			list = append(list, g)
		}
	}
	return list
}

// TestForkHandsAFailedTaskOutAgain: every checkpoint of a thread whose task failed for good is forked, to a branch and
// to a thread, before and after the process ended. Each fork hands the task out once, under an id of its own, and its
// answer counts for it alone. The source fails as before.
func TestForkHandsAFailedTaskOutAgain(t *testing.T) {
	for _, how := range []string{"given up", "no attempt left", "too late"} {
		for _, away := range []bool{false, true} {
			for at := range 4 {
				t.Run(fmt.Sprint(how, "/", away, "/", at), func(t *testing.T) { forkFailed(t, how, away, at) })
			}
		}
	}
}

func forkFailed(t *testing.T, how string, away bool, at int) {
	w, ctx := newWorld(t), t.Context()
	f := flow.New("fetch", func(ctx context.Context, url string) (string, error) {
		if _, err := w.do(ctx, "plan"); err != nil {
			return "", err
		}
		page, err := step.RemoteWith[string](ctx, "get", "fetch", url, runs.RemoteOptions{Expires: time.Hour})
		if err != nil {
			return "", err
		}
		return page, nil
	})
	open := func() (*ledger.Ledger, *flow.App[string, string]) { // as a process does that starts
		l := w.ledger()
		return l, must.Get(f.Open(l, nil))(t)
	}
	l, a := open()
	must.Get(a.Run(ctx, "t", "http://x"))(t)
	g := theTask(t, l, "t")
	switch how {
	case "no attempt left":
		g = resolve(t, l, g, commit.TaskOutcome{Next: commit.NextAttempt(g.Call, l.Now(), "no route", 0), Why: "no route"})
		fallthrough
	case "given up":
		resolve(t, l, g, commit.TaskOutcome{Failed: "no route"})
	default:
		w.advance(2 * time.Hour)
	}
	_, failure := a.Resume(ctx, "t")
	if failure == nil {
		t.Fatal("the source does not fail")
	}
	var places []*posthouse.Header
	for h, err := range l.List(ctx, posthouse.Query{Thread: "t"}) {
		must.Do(t, err)
		places = append(places, h)
	}
	slices.SortFunc(places, func(a, b *posthouse.Header) int { return cmp.Compare(a.Seq, b.Seq) })
	if len(places) != 4 || places[3].Status != posthouse.StatusFailed {
		t.Fatalf("%d checkpoints", len(places))
	}
	before := entriesOf(t, l, "t")

	o := &ledger.ForkOptions{}
	if away {
		o.Thread = "u"
	}
	plan := must.Get(ledger.PlanFork(ctx, l, places[at].ID, o))(t)
	if len(plan.Asks) != 1 || plan.Asks[0].Name != "task:get" || plan.Asks[0].Failed == "" || len(plan.Decided) != 0 {
		t.Errorf("planned is %+v, answered %+v", plan.Asks, plan.Decided)
	}
	l, a = open()
	fork := must.Get(l.Fork(ctx, places[at].ID, o))(t)
	seen := map[posthouse.ID]bool{}
	for range 3 { // each in a process of its own
		l, a = open()
		if res, err := a.Resume(ctx, fork.Thread, flow.RunOptions{Branch: fork.Branch}); err != nil || res.Status != posthouse.StatusWaiting {
			t.Fatalf("the fork is %+v, error %v", res, err)
		}
		for _, g := range openOn(t, l, fork.Thread, fork.Branch) {
			seen[g.ID] = true
		}
	}
	again := openOn(t, l, fork.Thread, fork.Branch)
	if len(seen) != 1 || len(again) != 1 || again[0].ID == g.ID || again[0].Call.Attempt != 1 || !again[0].ExpiresAt.After(l.Now()) {
		t.Fatalf("handed out are %v, the last is %+v", seen, again)
	}
	second := must.Get(l.Fork(ctx, fork.ID, &ledger.ForkOptions{Branch: "second"}))(t) // of the fork as it was made
	must.Get(a.Resume(ctx, second.Thread, flow.RunOptions{Branch: second.Branch}))(t)
	if list := openOn(t, l, second.Thread, "second"); len(list) != 1 || list[0].ID == again[0].ID {
		t.Errorf("the fork of the fork has %+v", list)
	}
	resolve(t, l, again[0], commit.TaskOutcome{Output: json.RawMessage(`"page"`)})
	l, a = open()
	if res, err := a.Resume(ctx, fork.Thread, flow.RunOptions{Branch: fork.Branch}); err != nil || res.Output != "page" {
		t.Errorf("the fork ends with %+v, error %v", res, err)
	}
	if list := openOn(t, l, second.Thread, "second"); len(list) != 1 {
		t.Errorf("the answer of a fork is one for its fork: %+v", list)
	}
	must.Get(a.Copy(ctx, second.Thread, "copy", nil))(t) // knows what the branches know
	copied := openOn(t, l, "copy", "second")
	if len(copied) != 1 {
		t.Fatalf("the copy has %+v", copied)
	}
	resolve(t, l, copied[0], commit.TaskOutcome{Output: json.RawMessage(`"copied"`)})
	if res, err := a.Resume(ctx, "copy", flow.RunOptions{Branch: "second"}); err != nil || res.Output != "copied" {
		t.Errorf("the copy ends with %+v, error %v", res, err)
	}

	if _, err := a.Resume(ctx, "t"); err == nil || err.Error() != failure.Error() {
		t.Errorf("the source fails with %v, as a fork is there, and before with %v", err, failure)
	}
	if after := entriesOf(t, l, "t"); fmt.Sprint(after[:len(before)]) != fmt.Sprint(before) {
		t.Error("the source's record changed")
	}
	if at > 0 { // else it is not on record there
		w.want("[plan]")
	}
}

// TestForkKeepsAFailureThatTheProgramActedAfter: what a program did on knowing of the failure stands, and so does the failure.
func TestForkKeepsAFailureThatTheProgramActedAfter(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	f := flow.New("fallback", func(ctx context.Context, _ int) (string, error) {
		_, err := step.Remote[string](ctx, "get", "fetch", 1)
		var failed *runs.RemoteError
		if !errors.As(err, &failed) {
			return "", err
		}
		if err := step.Sleep(ctx, "cool down", time.Hour); err != nil {
			return "", err
		}
		return step.Remote[string](ctx, "other", "other", failed.Reason)
	})
	l := w.ledger()
	a := must.Get(f.Open(l, nil))(t)
	must.Get(a.Run(ctx, "t", 0))(t)
	resolve(t, l, theTask(t, l, "t"), commit.TaskOutcome{Failed: "no route"})
	sleeps := must.Get(a.Resume(ctx, "t"))(t)
	w.advance(2 * time.Hour)
	other := must.Get(a.Resume(ctx, "t"))(t)
	resolve(t, l, theTask(t, l, "t"), commit.TaskOutcome{Failed: "no route either"})
	if _, err := a.Resume(ctx, "t"); err == nil {
		t.Fatal("it does not fail")
	}
	failed := must.Get(l.Latest(ctx, ledger.LatestQuery{Thread: "t"}))(t)
	for i, at := range []posthouse.ID{sleeps.Checkpoint, other.Checkpoint, failed.ID} {
		for _, thread := range []string{"", fmt.Sprint("u", i)} {
			fork := must.Get(l.Fork(ctx, at, &ledger.ForkOptions{Thread: thread}))(t)
			w.advance(2 * time.Hour)
			must.Get(a.Resume(ctx, fork.Thread, flow.RunOptions{Branch: fork.Branch}))(t)
			list := openOn(t, l, fork.Thread, fork.Branch)
			if len(list) != 1 || list[0].Call.Task != "other" || string(list[0].Payload) != `"no route"` {
				t.Errorf("the fork of %s has %+v", at, list)
			}
		}
	}
}

// TestForkBesideAFailedTask: one of two tasks is given up while the other waits. A fork there hands out
// both, each once.
func TestForkBesideAFailedTask(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	f := flow.New("both", func(ctx context.Context, _ int) (int, error) {
		g := step.NewGroup(ctx, nil)
		for _, name := range []string{"a", "b"} {
			step.Go(g, name, func(ctx context.Context) (int, error) { return step.Remote[int](ctx, name, name, name) })
		}
		return 0, g.Wait()
	})
	l := w.ledger()
	a := must.Get(f.Open(l, nil))(t)
	res := must.Get(a.Run(ctx, "t", 0))(t)
	for i := range res.Waiting {
		if g := &res.Waiting[i]; g.Call.Task == "a" {
			resolve(t, l, g, commit.TaskOutcome{Failed: "no route"})
		}
	}
	must.Get(a.Resume(ctx, "t"))(t)
	head := must.Get(l.Latest(ctx, ledger.LatestQuery{Thread: "t"}))(t)
	fork := must.Get(l.Fork(ctx, head.ID, nil))(t)
	for _, want := range []string{"b", "a"} { // the one that is open when it is forked waits at once
		must.Get(a.Resume(ctx, "t", flow.RunOptions{Branch: fork.Branch}))(t)
		list := openOn(t, l, "t", fork.Branch)
		if len(list) != 1 || list[0].Call.Task != want {
			t.Fatalf("open are %+v, want %s", list, want)
		}
		resolve(t, l, list[0], commit.TaskOutcome{Output: json.RawMessage("1")})
	}
	res, err := a.Resume(ctx, "t", flow.RunOptions{Branch: fork.Branch})
	wantStatus(t, res, err, posthouse.StatusDone)
}
