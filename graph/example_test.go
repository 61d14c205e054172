package graph_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/memstore"
)

// exampleLedger opens a ledger that forgets everything when the program ends.
func exampleLedger() *ledger.Ledger {
	led, err := ledger.Open(memstore.New(), nil)
	if err != nil {
		panic(err)
	}
	return led
}

// A Ticket is worked on in two nodes.
type Ticket struct {
	Text   string
	Urgent bool
	Log    []string `posthouse:"append"`
}

func ticketGraph() *graph.Graph[Ticket] {
	g := graph.New[Ticket]("ticket")
	g.Node("read", func(ctx context.Context, t *Ticket) error {
		t.Urgent = strings.Contains(t.Text, "broken")
		t.Log = append(t.Log, "read")
		return nil
	})
	g.Node("page", func(ctx context.Context, t *Ticket) error {
		t.Log = append(t.Log, "paged")
		return nil
	})
	g.Edge(graph.Start, "read")
	g.Route("read", func(t *Ticket) string {
		if t.Urgent {
			return "page"
		}
		return graph.End
	}, "page", graph.End)
	g.Edge("page", graph.End)
	return g
}

func Example() {
	ctx := context.Background()
	app, err := ticketGraph().Compile(exampleLedger(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	out, err := app.Run(ctx, "ticket-1", Ticket{Text: "the press is broken"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(out.Status, out.State.Log)
	// Output: done [read paged]
}

func ExampleGraph_Compile() {
	g := graph.New[Ticket]("ticket")
	g.Node("read", nil)
	g.Edge("read", "page")
	_, err := g.Compile(exampleLedger(), nil)
	fmt.Println(err)
	// Output:
	// posthouse: graph "ticket" cannot run, it has 3 problems:
	// - node "read" has no function
	// - the edge from "read" leads to "page", which is not a node
	// - it has no entry: add an edge or a route from graph.Start
}

func ExampleApp_Resume() {
	ctx := context.Background()
	mailIsDown := true
	g := graph.New[Ticket]("ticket")
	g.Node("answer", func(ctx context.Context, t *Ticket) error {
		reply, err := step.Do(ctx, "llm", func(context.Context) (string, error) {
			fmt.Println("calling the model") // paid for once
			return "try turning it off and on", nil
		})
		if err != nil {
			return err
		}
		if mailIsDown {
			return errors.New("the mail server is down")
		}
		t.Log = append(t.Log, reply)
		return nil
	})
	g.Edge(graph.Start, "answer")
	g.Edge("answer", graph.End)
	app, _ := g.Compile(exampleLedger(), nil)

	_, err := app.Run(ctx, "ticket-1", Ticket{Text: "it is broken"})
	fmt.Println(err)
	mailIsDown = false
	out, err := app.Resume(ctx, "ticket-1")
	fmt.Println(out.Status, out.State.Log, err)
	// Output:
	// calling the model
	// posthouse: node "answer" of graph "ticket" failed in thread "ticket-1": the mail server is down
	// done [try turning it off and on] <nil>
}

func ExampleApp_Stream() {
	ctx := context.Background()
	app, _ := ticketGraph().Compile(exampleLedger(), &graph.CompileOptions{InterruptBefore: []string{"page"}})
	for event, err := range app.Stream(ctx, "ticket-1", Ticket{Text: "the press is broken"}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(event.Kind, event.Node, event.State.Log, event.Checkpoint.Next)
		if event.Result != nil {
			fmt.Println(event.Result.Status)
		}
	}
	// Output:
	// input  [] [read]
	// node read [read] [page]
	// park read [read] [page]
	// interrupted
}

func ExampleApp_History() {
	ctx := context.Background()
	app, _ := ticketGraph().Compile(exampleLedger(), nil)
	app.Run(ctx, "ticket-1", Ticket{Text: "the press is broken"})
	for s, err := range app.History(ctx, "ticket-1") {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(s.Step, s.Kind, s.Node, s.State.Log, s.Next)
	}
	// Output:
	// 2 node page [read paged] []
	// 1 node read [read] [page]
	// 0 input  [] [read]
}

// AsNode goes on where the node leads now, Goto at the node itself.
func ExampleApp_Update() {
	ctx := context.Background()
	app, _ := ticketGraph().Compile(exampleLedger(), nil)
	app.Run(ctx, "ticket-1", Ticket{Text: "a question"})

	s, _ := app.Update(ctx, "ticket-1", func(t *Ticket) { t.Urgent = true }, graph.UpdateOptions{AsNode: "read", By: "alice"})
	fmt.Println("as read:", s.Next)
	s, _ = app.Update(ctx, "ticket-1", nil, graph.UpdateOptions{Goto: "read"})
	fmt.Println("goto read:", s.Next)
	s, _ = app.Update(ctx, "ticket-1", func(t *Ticket) { t.Text = "it is broken" })
	fmt.Println("neither:", s.Next)
	out, _ := app.Resume(ctx, "ticket-1")
	fmt.Println(out.State.Log)
	// Output:
	// as read: [page]
	// goto read: [read]
	// neither: [read]
	// [read read paged]
}

func ExampleApp_Fork() {
	ctx := context.Background()
	app, _ := ticketGraph().Compile(exampleLedger(), nil)
	app.Run(ctx, "ticket-1", Ticket{Text: "a question"})
	var first posthouse.ID
	for s := range app.History(ctx, "ticket-1") {
		first = s.ID // the oldest comes last
	}
	what := func(t *Ticket) { t.Text = "what if it were broken?" }
	fork, _ := app.Fork(ctx, first, what, graph.ForkOptions{Branch: "what-if"})
	out, _ := app.Resume(ctx, "ticket-1", graph.RunOptions{Branch: fork.Branch})
	main, _ := app.State(ctx, "ticket-1")
	fmt.Println(out.Branch, out.State.Log, main.Branch, main.State.Log)
	// Output: what-if [read paged] main [read]
}

func ExampleApp_Replay() {
	ctx := context.Background()
	app, _ := ticketGraph().Compile(exampleLedger(), nil)
	app.Run(ctx, "ticket-1", Ticket{Text: "it is broken"})
	read, _ := app.State(ctx, "ticket-1", graph.StateOptions{Node: "read"})
	out, _ := app.Replay(ctx, read.ID)
	fmt.Println(out.Branch, out.State.Log)
	// Output: fork-1 [read paged]
}

func ExampleLog() {
	type State struct{ Lines graph.Log[string] }
	g := graph.New[State]("log")
	g.Node("write", func(ctx context.Context, s *State) error {
		s.Lines.Append("hello")
		return nil
	})
	g.Edge(graph.Start, "write")
	g.Edge("write", graph.End)
	app, _ := g.Compile(exampleLedger(), nil)
	for range 2 {
		app.Run(context.Background(), "log-1", State{})
	}
	s, _ := app.State(context.Background(), "log-1")
	fmt.Println(s.State.Lines.Slice())
	// Output: [hello hello]
}
