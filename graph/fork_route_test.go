package graph_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/proof/must"
)

// A jester's jokes are made side by side, one for each subject.
type jester struct {
	Subjects []string
	Jokes    []string `posthouse:"append"`
	Cents    int
	Way      []string `posthouse:"append"`
}

// jokes returns a graph that makes a joke of each subject. joke may fail.
func jokes(joke func(subject string) error) *graph.Graph[jester] {
	g := graph.New[jester]("jester")
	g.Node("subjects", func(_ context.Context, s *jester) error {
		s.Subjects = []string{"cats", "dogs"}
		return nil
	})
	graph.Task(g, "joke", func(ctx context.Context, subject string, s *jester) error {
		about, err := do(ctx, "make", func() (string, error) { return "about " + subject, joke(subject) })
		s.Jokes = append(s.Jokes, about)
		return err
	})
	g.Node("best", func(_ context.Context, s *jester) error { return nil })
	g.Edge(graph.Start, "subjects")
	g.Map("subjects", func(s *jester) (sends []graph.Send) {
		for _, subject := range s.Subjects {
			sends = append(sends, graph.Send{Node: "joke", Input: subject})
		}
		return sends
	}, "joke")
	g.Edge("joke", "best")
	g.Edge("best", graph.End)
	return g
}

// at returns the newest checkpoint of a node on main.
func at[S any](t *testing.T, a *graph.App[S], thread, node string) *graph.Snapshot[S] {
	t.Helper()
	return must.Get(a.State(t.Context(), thread, graph.StateOptions{Branch: posthouse.MainBranch, Node: node}))(t)
}

// TestForkWithOtherSubjectsMakesJokesOfThem: a Map sends to the tasks of a fork what the state of the fork has.
func TestForkWithOtherSubjectsMakesJokesOfThem(t *testing.T) {
	onStores(t, func(t *testing.T, store posthouse.Store) {
		l := open(t, store, nil)
		app := compile(t, jokes(func(string) error { return nil }), l, nil)
		must.Get(app.Run(t.Context(), "t", jester{}))(t)
		before := at(t, app, "t", "subjects")
		other := func(s *jester) { s.Subjects = []string{"birds", "cats", "fish"} }
		for name, c := range map[string]struct {
			change func(*jester)
			opt    graph.ForkOptions
			want   []string
		}{
			"other":         {other, graph.ForkOptions{}, []string{"about birds", "about cats", "about fish"}},
			"other, thread": {other, graph.ForkOptions{Thread: "u"}, []string{"about birds", "about cats", "about fish"}},
			"kept":          {other, graph.ForkOptions{KeepNext: true}, []string{"about cats", "about dogs"}},
			"unchanged":     {nil, graph.ForkOptions{}, []string{"about cats", "about dogs"}},
			"beside":        {func(s *jester) { s.Cents = 1 }, graph.ForkOptions{}, []string{"about cats", "about dogs"}},
			"none":          {func(s *jester) { s.Subjects = nil }, graph.ForkOptions{}, nil},
		} {
			t.Run(name, func(t *testing.T) {
				f := must.Get(app.Fork(t.Context(), before.ID, c.change, c.opt))(t)
				out := must.Get(app.Resume(t.Context(), f.Thread, graph.RunOptions{Branch: f.Branch}))(t)
				if out.Status != posthouse.StatusDone || !slices.Equal(out.State.Jokes, c.want) {
					t.Errorf("it is %s with %q, want %q", out.Status, out.State.Jokes, c.want)
				}
			})
		}
	})
}

// TestForkOfAForkRoutesByItsOwnState: KeepNext holds for the fork that it was given for.
func TestForkOfAForkRoutesByItsOwnState(t *testing.T) {
	l := newLedger(t)
	app := compile(t, jokes(func(string) error { return nil }), l, nil)
	must.Get(app.Run(t.Context(), "t", jester{}))(t)
	kept := must.Get(app.Fork(t.Context(), at(t, app, "t", "subjects").ID, func(s *jester) { s.Subjects = []string{"birds"} }, graph.ForkOptions{KeepNext: true}))(t)
	again := must.Get(app.Fork(t.Context(), kept.ID, func(s *jester) { s.Subjects = []string{"fish"} }))(t)
	out := must.Get(app.Resume(t.Context(), "t", graph.RunOptions{Branch: again.Branch}))(t)
	wantList(t, "jokes", out.State.Jokes, "about fish")
}

// TestForkWhereATaskFailedKeepsWhatStillApplies: in the middle of a step a task with the same input goes on with what
// it has on record; one with another input finds nothing of it.
func TestForkWhereATaskFailedKeepsWhatStillApplies(t *testing.T) {
	onStores(t, func(t *testing.T, store posthouse.Store) {
		l := open(t, store, nil)
		made := map[string]int{}
		broken := true
		app := compile(t, jokes(func(subject string) error {
			made[subject]++
			if subject == "dogs" && broken {
				return errors.New("no joke")
			}
			return nil
		}), l, &graph.CompileOptions{Check: true, Concurrency: 1})
		if _, err := app.Run(t.Context(), "t", jester{}); err == nil {
			t.Fatal("it did not fail")
		}
		broken = false
		head := must.Get(app.State(t.Context(), "t"))(t)
		f := must.Get(app.Fork(t.Context(), head.ID, func(s *jester) { s.Subjects = []string{"birds", "cats", "dogs"} }))(t)
		out := must.Get(app.Resume(t.Context(), "t", graph.RunOptions{Branch: f.Branch}))(t)
		wantList(t, "jokes", out.State.Jokes, "about birds", "about cats", "about dogs")
		if made["cats"] != 1 || made["birds"] != 1 || made["dogs"] != 2 {
			t.Errorf("made %v", made)
		}
	})
}

// refund returns a graph that pays small amounts and asks about large ones.
func refund(pay func() error) *graph.Graph[jester] {
	g := graph.New[jester]("refund")
	way := func(name string, fail func() error) {
		g.Node(name, func(_ context.Context, s *jester) error {
			s.Way = append(s.Way, name)
			return fail()
		})
	}
	fine := func() error { return nil }
	way("read", fine)
	way("pay", pay)
	way("ask", fine)
	g.Edge(graph.Start, "read")
	g.Route("read", func(s *jester) string {
		switch {
		case s.Cents == 0:
			return graph.End
		case s.Cents > 1000:
			return "ask"
		}
		return "pay"
	}, "pay", "ask", graph.End)
	g.Edge("pay", graph.End)
	g.Edge("ask", graph.End)
	return g
}

// TestForkWhereItFailedRoutesAnew: a larger amount is asked about, though the smaller one was being paid.
func TestForkWhereItFailedRoutesAnew(t *testing.T) {
	l := newLedger(t)
	app := compile(t, refund(func() error { return errors.New("no bank") }), l, nil)
	if _, err := app.Run(t.Context(), "t", jester{Cents: 500}); err == nil {
		t.Fatal("it did not fail")
	}
	head := must.Get(app.State(t.Context(), "t"))(t)
	for cents, want := range map[int][]string{5000: {"read", "ask"}, 0: {"read"}} {
		t.Run(fmt.Sprint(cents), func(t *testing.T) {
			f := must.Get(app.Fork(t.Context(), head.ID, func(s *jester) { s.Cents = cents }))(t)
			out := must.Get(app.Resume(t.Context(), "t", graph.RunOptions{Branch: f.Branch}))(t)
			wantList(t, "way", out.State.Way, want...)
			if out.Status != posthouse.StatusDone {
				t.Error(out.Status)
			}
		})
	}
}

// TestForkKeepsWhereACommandLed: what the code of a node decided is not decided again.
func TestForkKeepsWhereACommandLed(t *testing.T) {
	g := graph.New[jester]("command")
	g.Command("read", func(_ context.Context, s *jester) (graph.Command, error) {
		return graph.Goto("pay"), nil
	}, graph.NodeOptions{Targets: []string{"pay", "ask"}})
	for _, name := range []string{"pay", "ask"} {
		g.Node(name, func(_ context.Context, s *jester) error { s.Way = append(s.Way, name); return nil })
		g.Edge(name, graph.End)
	}
	g.Edge(graph.Start, "read")
	app := compile(t, g, newLedger(t), nil)
	must.Get(app.Run(t.Context(), "t", jester{Cents: 1}))(t)
	f := must.Get(app.Fork(t.Context(), at(t, app, "t", "read").ID, func(s *jester) { s.Cents = 5000 }))(t)
	out := must.Get(app.Resume(t.Context(), "t", graph.RunOptions{Branch: f.Branch}))(t)
	wantList(t, "way", out.State.Way, "pay")
}

// TestForkOfAnInputFollowsStartAnew: the route of Start chooses by the state of the fork.
func TestForkOfAnInputFollowsStartAnew(t *testing.T) {
	g := graph.New[jester]("start")
	for _, name := range []string{"small", "large"} {
		g.Node(name, func(_ context.Context, s *jester) error { s.Way = append(s.Way, name); return nil })
		g.Edge(name, graph.End)
	}
	g.Route(graph.Start, func(s *jester) string {
		if s.Cents > 1000 {
			return "large"
		}
		return "small"
	}, "small", "large")
	app := compile(t, g, newLedger(t), nil)
	must.Get(app.Run(t.Context(), "t", jester{Cents: 1}))(t)
	input := history(t, app, "t", graph.HistoryOptions{Kind: posthouse.KindInput})[0]
	f := must.Get(app.Fork(t.Context(), input.ID, func(s *jester) { s.Cents = 5000 }))(t)
	out := must.Get(app.Resume(t.Context(), "t", graph.RunOptions{Branch: f.Branch}))(t)
	wantList(t, "way", out.State.Way, "large")
	f = must.Get(app.Fork(t.Context(), f.ID, nil))(t)
	out = must.Get(app.Resume(t.Context(), "t", graph.RunOptions{Branch: f.Branch}))(t)
	wantList(t, "way of a fork of the fork", out.State.Way, "large")
}

// TestForkWhoseRouteFailsKeepsItsPlace: what the source chose does not run instead.
func TestForkWhoseRouteFailsKeepsItsPlace(t *testing.T) {
	g := graph.New[jester]("fails")
	g.Node("read", func(_ context.Context, s *jester) error { return nil })
	g.Node("pay", func(_ context.Context, s *jester) error { s.Way = append(s.Way, "pay"); return nil })
	g.Edge(graph.Start, "read")
	g.Route("read", func(s *jester) string {
		if s.Cents > 1000 {
			panic("too much")
		}
		return "pay"
	}, "pay")
	g.Edge("pay", graph.End)
	app := compile(t, g, newLedger(t), nil)
	must.Get(app.Run(t.Context(), "t", jester{Cents: 1}))(t)
	f := must.Get(app.Fork(t.Context(), at(t, app, "t", "read").ID, func(s *jester) { s.Cents = 5000 }))(t)
	for range 2 {
		if _, err := app.Resume(t.Context(), "t", graph.RunOptions{Branch: f.Branch}); err == nil || !strings.Contains(err.Error(), "too much") {
			t.Error(err)
		}
	}
	if s := must.Get(app.State(t.Context(), "t", graph.StateOptions{Branch: f.Branch}))(t); s.ID != f.ID {
		t.Errorf("the fork moved on to %s, %s", s.ID, s.Status)
	}
}
