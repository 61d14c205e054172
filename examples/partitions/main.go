// Command partitions runs a team of agents that share a state. Your problem: agents work side by side, and each writes what
// it found, what it made, what it thinks and what it cost. Some of that adds
// up, some may be there once only. When two agents disagree you want to know
// it, and which two, rather than have the last one win.
//
//	go run ./examples/partitions "lamps"
//
// The state has the four partitions that agent frameworks know: input, scratch,
// artifacts, diagnostics. Each is a struct of its own; the tags of its fields
// are the rules by which what agents leave is merged. Each field is a part of
// the state by itself, stored only where it changed.
package main

import (
	"cmp"
	"context"
	"fmt"
	"log"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
)

// Input is what the team was given. Two agents that change it differently are
// an error that names both: the rule of every field without a tag.
type Input struct {
	Goal string
}

// Scratch is for notes that the team shares while it works.
type Scratch struct {
	Notes map[string]string `posthouse:"merge"`   // by key; two values for one are an error
	Seen  []string          `posthouse:"set"`     // sources, each once
	Plan  string            `posthouse:"longest"` // who thought more wins
}

// Artifacts are what the team was hired for.
type Artifacts struct {
	Pages []Page `posthouse:"append"` // in the order of the agents
	Title string `posthouse:"first"`
}

// A Page is one artifact.
type Page struct {
	By, Text string
}

// Diagnostics say how it went.
type Diagnostics struct {
	Tokens  int        `posthouse:"sum"`
	Slowest int        `posthouse:"max"`
	Quality graph.Mean `posthouse:"avg"` // each agent's say counts once
	Worst   Severity   // by a function of ours: see worst
}

// Severity is how bad it was.
type Severity string

// Team is the state.
type Team struct {
	Input
	Scratch
	Artifacts
	Diagnostics
}

// An agent writes into a copy of the state; what it changed is merged with
// what those beside it did.
type agent func(ctx context.Context, t *Team) error

// team runs the agents side by side, between a lead and an editor.
func team(agents map[string]agent) *graph.Graph[Team] {
	g := graph.New[Team]("team")
	graph.Merge(g, "Worst", worst)
	g.Node("lead", func(ctx context.Context, t *Team) error {
		t.Plan = "plan: " + t.Goal
		t.Tokens += 10
		return nil
	})
	g.Node("editor", func(ctx context.Context, t *Team) error {
		var texts []string
		for _, p := range t.Pages {
			texts = append(texts, p.Text)
		}
		t.Notes["editor"] = strings.Join(texts, " / ")
		return nil
	})
	g.Edge(graph.Start, "lead")
	for _, name := range slices.Sorted(maps.Keys(agents)) {
		g.Node(name, agents[name])
		g.Edge("lead", name)
		g.Edge(name, "editor")
	}
	g.Edge("editor", graph.End)
	return g
}

// worst is a merge rule of our own. It gets the value the agents began with and
// what each of them left.
func worst(base Severity, writes []Severity) (Severity, error) {
	known := []Severity{"", "odd", "bad"}
	rank := 0
	for _, s := range append(writes, base) {
		i := slices.Index(known, s)
		if i < 0 {
			return "", fmt.Errorf("there is no severity %q", s)
		}
		rank = max(rank, i)
	}
	return known[rank], nil
}

// work has the team reach a goal.
func work(ctx context.Context, store posthouse.Store, agents map[string]agent, goal string) (*graph.Result[Team], error) {
	led, err := ledger.Open(store, nil)
	if err != nil {
		return nil, err
	}
	defer led.Close()
	app, err := team(agents).Compile(led, nil)
	if err != nil {
		return nil, err
	}
	return app.Run(ctx, "team", Team{Input: Input{Goal: goal}})
}

// writer is an agent who gets along with others.
func writer(name string, ms int, quality float64, worst Severity) agent {
	return func(ctx context.Context, t *Team) error {
		t.Notes = map[string]string{name: "thought about " + t.Goal}
		t.Seen = append(t.Seen, "library", name+"'s shelf")
		t.Pages = append(t.Pages, Page{By: name, Text: name + " on " + t.Goal})
		t.Title = "By " + name
		t.Plan += strings.Repeat("!", ms/10)
		t.Tokens += 100 // to what there was: the base counts once
		t.Slowest = max(t.Slowest, ms)
		t.Quality.Add(quality)
		t.Worst = worst
		return nil
	}
}

func writers() map[string]agent {
	return map[string]agent{
		"ada": writer("ada", 30, 0.9, ""), "bob": writer("bob", 10, 0.5, "bad"), "cyd": writer("cyd", 20, 0.7, "odd"),
	}
}

func main() {
	goal := cmp.Or(strings.Join(os.Args[1:], " "), "lamps")
	out, err := work(context.Background(), memstore.New(), writers(), goal)
	if err != nil {
		log.Fatal(err)
	}
	t := out.State
	fmt.Printf("input        goal %q\n", t.Goal)
	fmt.Printf("scratch      notes %q, seen %q, plan %q\n", t.Notes, t.Seen, t.Plan)
	fmt.Printf("artifacts    title %q, pages %v\n", t.Title, t.Pages)
	fmt.Printf("diagnostics  %d tokens, slowest %d ms, quality %.1f, worst %s\n", t.Tokens, t.Slowest, t.Quality.Value(), t.Worst)
}
