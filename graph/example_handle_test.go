package graph_test

import (
	"context"
	"fmt"

	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/store/memstore"
)

// answering is a graph that answers messages; about a hello it never makes up its
// mind.
func answering() (*graph.App[trail], chan string, func()) {
	thinks := make(chan string, 2)
	g := graph.New[trail]("chat")
	g.Node("answer", func(ctx context.Context, s *trail) error {
		thinks <- s.Go
		if s.Go == "hello" {
			<-ctx.Done()
			return ctx.Err()
		}
		s.Nodes = append(s.Nodes, "answered "+s.Go)
		return nil
	})
	g.Edge(graph.Start, "answer")
	g.Edge("answer", graph.End)
	led, _ := ledger.Open(memstore.New(), nil)
	app, _ := g.Compile(led, nil)
	return app, thinks, func() { led.Close() }
}

// A run in the background is cancelled; the thread takes a new input.
func ExampleApp_Start() {
	ctx := context.Background()
	app, thinks, stop := answering()
	defer stop()

	h, err := app.Start(ctx, "chat-1", trail{Go: "hello"})
	if err != nil {
		fmt.Println(err)
		return
	}
	<-thinks
	h.Cancel(ctx, "the user pressed stop")
	out, err := h.Result()
	fmt.Println(h.Reason(), out.Status, err)

	out, err = app.Run(ctx, "chat-1", trail{Go: "bye"})
	fmt.Println(out.State.Nodes, err)
	// Output:
	// cancelled cancelled <nil>
	// [answered bye] <nil>
}

// A second message comes while the first is being answered.
func ExampleRollback() {
	ctx := context.Background()
	app, thinks, stop := answering()
	defer stop()

	first, _ := app.Start(ctx, "chat-1", trail{Go: "hello", N: 1})
	<-thinks
	out, err := app.Run(ctx, "chat-1", trail{Go: "never mind"}, graph.RunOptions{OnBusy: runs.Rollback})
	fmt.Println(first.Reason() == runs.Cancelled || first.Reason() == runs.Running, out.State.Nodes, out.State.N, err)
	// Output: true [answered never mind] 0 <nil>
}

// A message that is delivered twice is answered once.
func ExampleApp_Run_once() {
	ctx := context.Background()
	app, _, stop := answering()
	defer stop()
	for range 2 {
		out, err := app.Run(ctx, "chat-1", trail{Go: "how are you"}, graph.RunOptions{Run: "message-17"})
		fmt.Println(out.State.Nodes, err)
	}
	// Output:
	// [answered how are you] <nil>
	// [answered how are you] <nil>
}

// Stops of one call, to look at what a node did.
func ExampleApp_Run_interrupts() {
	ctx := context.Background()
	app, _ := ticketGraph().Compile(exampleLedger(), nil)
	broken := Ticket{Text: "the press is broken"}
	out, err := app.Run(ctx, "ticket-1", broken, graph.RunOptions{InterruptBefore: []string{"page"}})
	fmt.Println(out.Status, out.Next, out.State.Log, err)
	out, err = app.Resume(ctx, "ticket-1")
	fmt.Println(out.Status, out.State.Log, err)
	// Output:
	// interrupted [page] [read] <nil>
	// done [read paged] <nil>
}
