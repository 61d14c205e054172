package main

import (
	"context"
	"errors"
	"maps"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/store/memstore"
)

func TestEachPartitionIsMergedByItsRules(t *testing.T) {
	for range 20 { // whoever is first
		out, err := work(t.Context(), memstore.New(), writers(), "lamps")
		if err != nil {
			t.Fatal(err)
		}
		got := out.State
		quality := got.Quality
		got.Quality = graph.Mean{}
		want := Team{
			Input: Input{Goal: "lamps"},
			Scratch: Scratch{
				Notes: map[string]string{
					"ada": "thought about lamps", "bob": "thought about lamps", "cyd": "thought about lamps",
					"editor": "ada on lamps / bob on lamps / cyd on lamps",
				},
				Seen: []string{"library", "ada's shelf", "bob's shelf", "cyd's shelf"},
				Plan: "plan: lamps!!!",
			},
			Artifacts:   Artifacts{Pages: []Page{{"ada", "ada on lamps"}, {"bob", "bob on lamps"}, {"cyd", "cyd on lamps"}}, Title: "By ada"},
			Diagnostics: Diagnostics{Tokens: 310, Slowest: 30, Worst: "bad"},
		}
		if !reflect.DeepEqual(got, want) || quality.Count != 3 || math.Abs(quality.Value()-0.7) > 1e-9 {
			t.Fatalf("got %+v, quality %v", got, quality)
		}
	}
}

func TestAgentsThatDisagreeAreNamed(t *testing.T) {
	for part, change := range map[string]func(name string, t *Team){
		"Goal":  func(name string, t *Team) { t.Goal = "what " + name + " wants" },
		"Notes": func(name string, t *Team) { t.Notes = map[string]string{"weather": "good for " + name} },
		"Worst": func(name string, t *Team) { t.Worst = "so so" },
	} {
		agents := writers()
		for _, name := range []string{"bob", "cyd"} {
			agents[name] = func(ctx context.Context, t *Team) error { change(name, t); return nil }
		}
		_, err := work(t.Context(), memstore.New(), maps.Clone(agents), "lamps")
		e, ok := errors.AsType[*graph.MergeError](err)
		if !ok || e.Part != part || part != "Worst" && !slices.Equal(e.Nodes, []string{"bob", "cyd"}) {
			t.Errorf("%s: %v", part, err)
		}
	}
}
