package graph_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
)

// An Essay is written by several nodes at once.
type Essay struct {
	Topics []string
	Notes  []string `posthouse:"append"`
	Words  int      `posthouse:"sum"`
	Best   string   // merged by a function, see ExampleMerge
}

// notes is a node that writes something down.
func notes(text string) func(context.Context, *Essay) error {
	return func(_ context.Context, e *Essay) error {
		e.Notes = append(e.Notes, text)
		e.Words += len(strings.Fields(text))
		return nil
	}
}

// runExample compiles a graph and runs it once.
func runExample[S any](g *graph.Graph[S], in S) *graph.Result[S] {
	app, err := g.Compile(exampleLedger(), nil)
	if err != nil {
		panic(err)
	}
	out, err := app.Run(context.Background(), "example", in)
	if err != nil {
		panic(err)
	}
	return out
}

// Two edges from one place lead to nodes beside each other; a join waits for
// both. Their writes are merged by the rules of the fields' tags.
func ExampleGraph_Join() {
	g := graph.New[Essay]("essay")
	g.Node("web", notes("from the web"))
	g.Node("papers", notes("from papers"))
	g.Node("write", notes("written"))
	g.Edge(graph.Start, "web")
	g.Edge(graph.Start, "papers")
	g.Join("write", "web", "papers")
	g.Edge("write", graph.End)

	out := runExample(g, Essay{Words: 100})
	fmt.Println(out.State.Notes, out.State.Words)
	// Output: [from the web from papers written] 106
}

// A task runs once for each input that is sent to it, at most
// CompileOptions.Concurrency of them at once. Results come in the order of the
// inputs.
func ExampleTask() {
	g := graph.New[Essay]("essay")
	g.Node("plan", func(_ context.Context, e *Essay) error {
		e.Topics = []string{"leaves", "water"}
		return nil
	})
	graph.Task(g, "research", func(_ context.Context, topic string, out *Essay) error {
		out.Notes = []string{"on " + topic}
		return nil
	})
	g.Node("write", notes("written"))
	g.Edge(graph.Start, "plan")
	g.Map("plan", func(e *Essay) (sends []graph.Send) {
		for _, topic := range e.Topics {
			sends = append(sends, graph.Send{Node: "research", Input: topic})
		}
		return sends
	}, "research")
	g.Edge("research", "write") // once all of them have completed
	g.Edge("write", graph.End)

	fmt.Println(runExample(g, Essay{}).State.Notes)
	// Output: [on leaves on water written]
}

// A command says where a node leads, together with what it changed.
func ExampleGraph_Command() {
	g := graph.New[Essay]("essay")
	g.Command("judge", func(_ context.Context, e *Essay) (graph.Command, error) {
		e.Words += 10
		if e.Words < 30 {
			return graph.Goto("judge"), nil // once more
		}
		return graph.Goto("publish"), nil
	}, graph.NodeOptions{Targets: []string{"judge", "publish"}})
	g.Node("publish", notes("published"))
	g.Edge(graph.Start, "judge")
	g.Edge("publish", graph.End)

	out := runExample(g, Essay{})
	fmt.Println(out.State.Words, out.State.Notes)
	// Output: 31 [published]
}

// A part without a rule that two nodes left different is an error, unless a
// function says what becomes of it.
func ExampleMerge() {
	best := func(text string) func(context.Context, *Essay) error {
		return func(_ context.Context, e *Essay) error { e.Best = text; return nil }
	}
	g := graph.New[Essay]("essay")
	g.Node("short", best("tea"))
	g.Node("long", best("tea is a drink"))
	for _, n := range []string{"short", "long"} {
		g.Edge(graph.Start, n)
		g.Edge(n, graph.End)
	}
	app, err := g.Compile(exampleLedger(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = app.Run(context.Background(), "example", Essay{})
	if e, ok := errors.AsType[*graph.MergeError](err); ok {
		fmt.Println(e.Part, e.Nodes)
	}

	graph.Merge(g, "Best", func(base string, writes []string) (string, error) {
		return slices.MaxFunc(writes, func(a, b string) int { return len(a) - len(b) }), nil
	})
	fmt.Println(runExample(g, Essay{}).State.Best)
	// Output:
	// Best [short long]
	// tea is a drink
}

// Retries are on record: a restart neither gives the node its tries back nor
// forgets when the next is due. When they are used up, OnError runs in its
// place.
func ExampleGraph_OnError() {
	tries := 0
	g := graph.New[Essay]("essay")
	g.Node("fetch", func(context.Context, *Essay) error {
		tries++
		return errors.New("503")
	}, graph.NodeOptions{
		Retry:   posthouse.RetryPolicy{MaxAttempts: 3, InitialDelay: time.Millisecond, Backoff: posthouse.Exponential},
		Timeout: time.Minute, // of one try
	})
	g.OnError("fetch", func(_ context.Context, e *Essay, _ error) (graph.Command, error) {
		e.Notes = append(e.Notes, "without sources")
		return graph.Command{}, nil // on as if it had been fetched; or graph.Goto
	})
	g.Edge(graph.Start, "fetch")
	g.Edge("fetch", graph.End)

	fmt.Println(runExample(g, Essay{}).State.Notes, "after", tries, "tries")
	// Output: [without sources] after 3 tries
}

// A subgraph has a state of its own. It waits, crashes, forks and resumes
// inside, as the nodes of the graph around it do.
func ExampleSubgraph() {
	type Book struct{ Chapter string }
	chapter := graph.New[Essay]("chapter")
	chapter.Node("read", notes("read"))
	chapter.Node("write", notes("written"), graph.NodeOptions{InterruptBefore: true})
	chapter.Edge(graph.Start, "read")
	chapter.Edge("read", "write")
	chapter.Edge("write", graph.End)

	book := graph.New[Book]("book")
	graph.Subgraph(book, "chapter", chapter, &graph.SubOptions[Book, Essay]{
		Out: func(b *Book, e *Essay) error { b.Chapter = strings.Join(e.Notes, ", "); return nil },
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
	inside, err := graph.Within[Essay](ctx, led, out.Checkpoint, "chapter")
	fmt.Println(out.Status, inside.Notes, err)
	out, err = app.Resume(ctx, "book-1")
	fmt.Println(out.Status, out.State.Chapter, err)
	// Output:
	// interrupted [read] <nil>
	// done read, written <nil>
}

// The nodes of a graph of the same state can be added under a place of this
// one.
func ExampleGraph_Inline() {
	review := graph.New[Essay]("review")
	review.Node("read", notes("read"))
	review.Node("mark", notes("marked"))
	review.Edge(graph.Start, "read")
	review.Edge("read", "mark")
	review.Edge("mark", graph.End)

	g := graph.New[Essay]("essay")
	g.Node("write", notes("written"))
	g.Inline("review", review) // its nodes are review.read and review.mark
	g.Edge(graph.Start, "write")
	g.Edge("write", "review")
	g.Edge("review", graph.End)

	fmt.Println(runExample(g, Essay{}).State.Notes)
	// Output: [written read marked]
}
