package flow_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
)

// A flow acts for whoever sent the branch its input, also when somebody else
// resumes it: not for whoever sent another branch an input. If an input has no
// sender, it acts for no one.
func TestFlowActsForItsRequester(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	var seen []string
	a := app(w, func(ctx context.Context, name string) (string, error) {
		_, err := gate.Ask[struct{}](ctx, gate.Question{Name: "go on"})
		if err == nil {
			seen = append(seen, name+" for "+engine.Principal(ctx))
		}
		return "", err
	}, nil)
	run := func(thread, in string, o flow.RunOptions) {
		t.Helper()
		res, err := a.Run(ctx, thread, in, o)
		wantStatus(t, res, err, posthouse.StatusWaiting)
	}
	run("t", "one", flow.RunOptions{By: "alice"})
	input := must.Get(collect(a.History(ctx, "t", flow.HistoryOptions{Kind: posthouse.KindInput})))(t)[0].ID
	must.Get(a.Fork(ctx, input, nil, flow.ForkOptions{Branch: "side", By: "carol"}))(t)
	must.Get(a.Fork(ctx, input, nil, flow.ForkOptions{Thread: "u", By: "carol"}))(t)
	must.Get(a.Fork(ctx, input, nil, flow.ForkOptions{Thread: "v"}))(t)
	run("t", "two", flow.RunOptions{Branch: "side", By: "mallory"})
	run("u", "three", flow.RunOptions{})
	must.Get(a.Resume(ctx, "v"))(t)
	for g, err := range w.ledger().Gates(ctx, ledger.GateQuery{All: true}) {
		approve(t, w.ledger(), must.Get(g, err)(t).ID)
	}
	must.Get(a.Resume(ctx, "t"))(t)
	must.Get(a.Resume(ctx, "t", flow.RunOptions{Branch: "side"}))(t)
	must.Get(a.Resume(ctx, "u"))(t)
	must.Get(a.Resume(ctx, "v"))(t)
	if got := fmt.Sprintf("%q", seen); got != `["one for alice" "two for mallory" "three for " "one for alice"]` {
		t.Fatal(got)
	}
}

// A request that a handler or node makes by a flow is made in the name of whom
// that acts for.
func TestFlowBelowARequestActsForItsSender(t *testing.T) {
	w := newWorld(t)
	seen := ""
	a := app(w, func(ctx context.Context, _ string) (string, error) {
		_, err := gate.Ask[struct{}](ctx, gate.Question{Name: "go on"})
		seen = engine.Principal(ctx)
		return "", err
	}, nil)
	res := must.Get(a.Run(engine.WithPrincipal(t.Context(), "alice"), "t", "in"))(t)
	approve(t, w.ledger(), res.Waiting[0].ID)
	seen = ""
	must.Get(a.Resume(t.Context(), "t"))(t)
	if seen != "alice" {
		t.Fatalf("resumed for %q", seen)
	}
	must.Get(a.Run(t.Context(), "t", "in", flow.RunOptions{By: "bob"}))(t)
	must.Get(a.Resume(t.Context(), "t"))(t)
	if seen != "bob" {
		t.Fatalf("the next request is for %q", seen)
	}
}

// A run that is sent again acts for whoever sent it first.
func TestARunSentAgainActsForTheFirst(t *testing.T) {
	for _, first := range []string{"alice", ""} {
		w := newWorld(t)
		var seen []string
		a := app(w, func(ctx context.Context, _ string) (string, error) {
			seen = append(seen, engine.Principal(ctx))
			_, err := gate.Ask[struct{}](ctx, gate.Question{Name: "go on"})
			return "", err
		}, nil)
		res := must.Get(a.Run(t.Context(), "t", "in", flow.RunOptions{Run: "r", By: first}))(t)
		approve(t, w.ledger(), res.Waiting[0].ID)
		must.Get(a.Run(engine.WithPrincipal(t.Context(), "mallory"), "t", "in", flow.RunOptions{Run: "r", By: "mallory"}))(t)
		if got := fmt.Sprintf("%q", seen); got != fmt.Sprintf("%q", []string{first, first}) {
			t.Errorf("acted for %s", got)
		}
	}
}
