package graph_test

import (
	"context"
	"fmt"
	"log"

	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
)

// A node keeps the best score by a rule; another one starts over.
func ExampleOverwrite() {
	type Game struct {
		Best int `posthouse:"max"`
	}
	l, err := ledger.Open(memstore.New(), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer l.Close()
	g := graph.New[Game]("game")
	g.Node("play", func(_ context.Context, s *Game) error {
		s.Best = 2 // the rule keeps what is more
		return nil
	})
	g.Node("reset", func(ctx context.Context, s *Game) error {
		fmt.Println(s.Best)
		return graph.Overwrite(ctx, &s.Best, 0)
	})
	g.Edge(graph.Start, "play")
	g.Edge("play", "reset")
	g.Edge("reset", graph.End)
	app, err := g.Compile(l, nil)
	if err != nil {
		log.Fatal(err)
	}
	out, err := app.Run(context.Background(), "t", Game{Best: 9})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(out.State.Best)
	// Output:
	// 9
	// 0
}
