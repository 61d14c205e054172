package graph_test

import (
	"context"
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
)

// A new version of a graph takes over a thread that the old one left: a node and
// a field have other names.
func ExampleMigration() {
	type Old struct{ Draft string }
	before := graph.New[Old]("report")
	before.Node("draft", func(_ context.Context, s *Old) error { s.Draft = "on tea"; return nil })
	before.Node("check", func(context.Context, *Old) error { return nil }, graph.NodeOptions{InterruptBefore: true})
	before.Edge(graph.Start, "draft")
	before.Edge("draft", "check")
	before.Edge("check", graph.End)

	type New struct{ Text string }
	after := graph.New[New]("report")
	after.Node("draft", func(_ context.Context, s *New) error { s.Text = "on tea"; return nil })
	after.Node("review", func(_ context.Context, s *New) error { s.Text += ", reviewed"; return nil })
	after.Edge(graph.Start, "draft")
	after.Edge("draft", "review")
	after.Edge("review", graph.End)

	ctx, led := context.Background(), exampleLedger()
	old, err := before.Compile(led, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := old.Run(ctx, "report-1", Old{}); err != nil {
		fmt.Println(err)
		return
	}
	app, err := after.Compile(led, &graph.CompileOptions{Migrations: []graph.Migration{{
		From:  old.Fingerprint(), // a constant in your program: what the old version printed
		Nodes: map[string]string{"check": "review"},
		Parts: func(s posthouse.State) (posthouse.State, error) {
			return posthouse.State{"Text": s["Draft"]}, nil
		},
	}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for f, err := range app.Check(ctx, nil) { // what a deploy would do
		fmt.Println(f.Thread, f.Kind, f.Next, err)
	}
	out, err := app.Resume(ctx, "report-1")
	fmt.Println(out.Status, out.State.Text, err)
	// Output:
	// report-1 migrates [review] <nil>
	// done on tea, reviewed <nil>
}

// A subgraph that was stopped is put right by hand, and goes on inside.
func ExampleUpdateWithin() {
	type Book struct{ Chapter []string }
	chapter := graph.New[Essay]("chapter")
	chapter.Node("read", notes("of coffee"))
	chapter.Node("write", notes("written"), graph.NodeOptions{InterruptBefore: true})
	chapter.Edge(graph.Start, "read")
	chapter.Edge("read", "write")
	chapter.Edge("write", graph.End)
	book := graph.New[Book]("book")
	graph.Subgraph(book, "chapter", chapter, &graph.SubOptions[Book, Essay]{
		Out: func(b *Book, e *Essay) error { b.Chapter = e.Notes; return nil },
	})
	book.Edge(graph.Start, "chapter")
	book.Edge("chapter", graph.End)

	ctx, led := context.Background(), exampleLedger()
	app, err := book.Compile(led, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	out, err := app.Run(ctx, "book-1", Book{})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = graph.UpdateWithin(ctx, led, out.Checkpoint, "chapter", func(e *Essay) { e.Notes[0] = "of tea" })
	if err != nil {
		fmt.Println(err)
		return
	}
	out, err = app.Resume(ctx, "book-1")
	fmt.Println(out.Status, out.State.Chapter, err)
	// Output: done [of tea written] <nil>
}

// A node may take long as long as it shows that it lives.
func ExampleHeartbeat() {
	g := graph.New[Essay]("essay")
	g.Node("read", func(ctx context.Context, e *Essay) error {
		for page := range 3 {
			// ... read it
			e.Notes = append(e.Notes, fmt.Sprint("page ", page+1))
			graph.Heartbeat(ctx)
		}
		return nil
	}, graph.NodeOptions{
		IdleTimeout: time.Minute,                                                          // between two signs of life
		Timeout:     24 * time.Hour,                                                       // of one attempt as a whole
		Retry:       posthouse.RetryPolicy{MaxAttempts: 3, InitialDelay: 5 * time.Second}, // of those that took too long, too
	})
	g.Edge(graph.Start, "read")
	g.Edge("read", graph.End)

	fmt.Println(runExample(g, Essay{}).State.Notes)
	// Output: [page 1 page 2 page 3]
}
