package coord_test

import (
	"context"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/coord"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
)

// TestAgentsOfAnyName calls agents with names that would read like others' in the
// names of steps: each result is its own, and no agent runs twice over a restart
// and a fork.
func TestAgentsOfAnyName(t *testing.T) {
	agents := []string{"a", "a>b", "a%3Eb", "a+b", "a/b#1", "user@example.com", "日本", "..", " ", strings.Repeat("é", 100)}
	store := memstore.New()
	var calls, results []string
	build := func(name string) (*coord.Coordinator, *ledger.Ledger) {
		var list []coord.Agent
		for _, a := range agents {
			list = append(list, coord.Agent{Name: a, Skills: map[string]coord.Skill{"do/it>": func(ctx context.Context, c coord.Call) (coord.Result, error) {
				if err := do(ctx, "b", func() error { calls = append(calls, a); return nil }); err != nil {
					return coord.Result{}, err
				}
				return coord.NewResult(a, nil)
			}}})
		}
		l := open(t, store, nil)
		c, err := coord.New(l, name, must.Get(coord.NewFleet(list...))(t), func(ctx context.Context, _ string, f *coord.Fleet, _ *coord.Session) error {
			results = nil
			for _, a := range agents {
				r, err := f.Agent(a).Call(ctx, "do/it>", nil)
				if err != nil {
					return err
				}
				results = append(results, r.Text)
			}
			_, err := ask(ctx, "ok")
			return err
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return c, l
	}
	for _, name := range []string{"dispatch/eu+us", "日本#1", strings.Repeat("+", 200)} {
		calls = nil
		c, l := build(name)
		thread := "tenant/42 " + name[:min(len(name), 30)]
		r := must.Get(c.Handle(t.Context(), "go", &coord.HandleOptions{Thread: thread}))(t)
		if r.Status != posthouse.StatusWaiting || len(calls) != len(agents) {
			t.Fatalf("%q: %+v, %q", name, r, calls)
		}
		f := must.Get(l.Fork(t.Context(), r.Checkpoint, &ledger.ForkOptions{Branch: "what/if"}))(t)
		decide(t, l, r.Gate, posthouse.Approve, "alice")
		c, l = build(name)
		done := must.Get(c.Resume(t.Context(), thread, nil))(t)
		if done.Status != posthouse.StatusDone {
			t.Errorf("%q: done.Status %s", name, done.Status)
		}
		wantList(t, "results", results, agents...)
		other := must.Get(c.Resume(t.Context(), thread, &coord.ResumeOptions{Branch: f.Branch}))(t)
		if len(calls) != len(agents) {
			t.Errorf("%q: agents ran %q; the fork is %s", name, calls, other.Status)
		}
		if n := len(checkpoints(t, l, posthouse.Query{Coordination: name, Node: name})); n == 0 {
			t.Errorf("%q: the checkpoints are not found by their node", name)
		}
	}
}

func TestAgentsThatReadAlikeAreRefused(t *testing.T) {
	skills := func(names ...string) map[string]coord.Skill {
		m := map[string]coord.Skill{}
		for _, n := range names {
			m[n] = new(world).skill(n)
		}
		return m
	}
	for _, agents := range [][]coord.Agent{
		{{Name: "x", Skills: skills("a.b")}, {Name: "x.a", Skills: skills("b")}},
		{{Name: strings.Repeat("+", 200), Skills: skills("go")}},
		{{Name: "a\nb", Skills: skills("go")}}, {{Name: "", Skills: skills("go")}}, {{Name: "a", Skills: skills("\xff")}}, {{Name: strings.Repeat("x", 201), Skills: skills("go")}},
	} {
		if _, err := coord.NewFleet(agents...); err == nil {
			t.Errorf("a fleet takes %q", agents[0].Name)
		} else {
			must.Fail(t, err, posthouse.ErrInvalid)
		}
	}
	must.Get(coord.NewFleet(coord.Agent{Name: "x", Skills: skills("a.b", "b.a")}, coord.Agent{Name: "x/a", Skills: skills("b")}))(t)
}
