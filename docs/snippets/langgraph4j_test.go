package snippets_test

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/store/memstore"
)

type MyState struct {
	Input        string
	UserFeedback string
	Reviewed     bool
	Messages     []string `posthouse:"append"`
}

func lg4jGraph() *graph.Graph[MyState] {
	g := graph.New[MyState]("my-graph")
	g.Node("agent", func(_ context.Context, s *MyState) error {
		s.Messages = append(s.Messages, "agent: "+s.Input)
		return nil
	})
	g.Node("review", func(_ context.Context, s *MyState) error {
		s.Messages = append(s.Messages, "review: "+s.UserFeedback)
		return nil
	})
	g.Edge(graph.Start, "agent")
	g.Edge("agent", "review")
	g.Edge("review", graph.End)
	return g
}

func Example_langgraph4jSaver() {
	ctx, workflow := context.Background(), lg4jGraph()
	//doc:saver
	led := must(ledger.Open(memstore.New(), nil)) // the saver: MemorySaver, or a store on disk
	app := must(workflow.Compile(led, nil))       // workflow.compile(config)

	result := must(app.Run(ctx, "my-session", MyState{Input: "data"})) // app.invoke(Map.of(...), runConfig)

	for h, err := range led.List(ctx, posthouse.Query{Thread: "my-session", Descending: true}) { // saver.list(runConfig)
		ok(err)
		fmt.Println(h.Kind, h.Node, h.Next)
	}
	newest := must(app.State(ctx, "my-session")) // saver.get(runConfig), app.getState(runConfig)
	//doc:end
	fmt.Println(result.Status, newest.Node, newest.State.Messages)
	// Output:
	// node review []
	// node agent [review]
	// input  [agent]
	// done review [agent: data review: ]
}

func Example_langgraph4jReview() {
	ctx := context.Background()
	led := must(ledger.Open(memstore.New(), &ledger.Options{Validate: gate.Validator()}))
	//doc:interrupt
	app := must(lg4jGraph().Compile(led, &graph.CompileOptions{InterruptBefore: []string{"review"}}))

	for e, err := range app.Stream(ctx, "human-review-session", MyState{Input: "content to review"}) {
		ok(err)
		switch e.Kind {
		case runs.EventNode:
			fmt.Println("Node:", e.Node)
		case runs.EventPark: // the interruption: an element of the stream, and its result
			fmt.Println("Human review needed before", e.Result.Next)
		}
	}

	must(app.Update(ctx, "human-review-session", func(s *MyState) { // app.updateState(config, values)
		s.UserFeedback, s.Reviewed = "approved", true
	}))
	final := must(app.Resume(ctx, "human-review-session")) // app.invoke(new GraphResume(), config)
	//doc:end
	fmt.Println(final.Status, final.State.Messages)
	// Output:
	// Node: agent
	// Human review needed before [review]
	// done [agent: content to review review: approved]
}

func Example_langgraph4jAsk() {
	ctx := context.Background()
	led := must(ledger.Open(memstore.New(), &ledger.Options{Validate: gate.Validator()}))
	g := graph.New[MyState]("asks")
	//doc:ask
	g.Node("review", func(ctx context.Context, s *MyState) error {
		a, err := gate.Ask[string](ctx, gate.Question{Name: "feedback", Text: "What do you think?", Show: s.Messages})
		if err != nil {
			return err // the graph is interrupted until somebody answers
		}
		s.UserFeedback, s.Reviewed = a.Value, a.Verdict == posthouse.Respond
		return nil
	})
	//doc:end
	g.Edge(graph.Start, "review")
	g.Edge("review", graph.End)
	app := must(g.Compile(led, nil))
	out := must(app.Run(ctx, "t", MyState{}))
	fmt.Println(out.Status, out.Waiting[0].Name)
	// Output: waiting feedback
}

func Example_langgraph4jUpdate() {
	ctx := context.Background()
	led := must(ledger.Open(memstore.New(), &ledger.Options{Validate: gate.Validator()}))
	app := must(lg4jGraph().Compile(led, nil))
	must(app.Run(ctx, "debug-session", MyState{Input: "debug data"}))
	//doc:history
	var target posthouse.ID
	for snapshot, err := range app.History(ctx, "debug-session") { // app.getStateHistory(runConfig), newest first
		ok(err)
		fmt.Println("Step:", snapshot.Node, "State:", snapshot.State.Messages, "Next:", snapshot.Next)
		if snapshot.Node == "agent" {
			target = snapshot.ID
		}
	}
	//doc:end
	//doc:rollback
	// resume from that point with a modified state, on a branch of its own
	must(app.Update(ctx, "debug-session", func(s *MyState) { s.UserFeedback = "user_correction" },
		graph.UpdateOptions{Checkpoint: target, NewBranch: "corrected"}))
	again := must(app.Resume(ctx, "debug-session", graph.RunOptions{Branch: "corrected"}))
	//doc:end
	fmt.Println(again.State.Messages)
	//doc:as-node
	// as if "agent" had made the update: what comes after it is next
	asNode := must(app.Update(ctx, "debug-session", nil, graph.UpdateOptions{AsNode: "agent"}))
	// go on at "agent"
	goTo := must(app.Update(ctx, "debug-session", nil, graph.UpdateOptions{Goto: "agent"}))
	//doc:end
	fmt.Println(asNode.Next, goTo.Next)
	// Output:
	// Step: review State: [agent: debug data review: ] Next: []
	// Step: agent State: [agent: debug data] Next: [review]
	// Step:  State: [] Next: [agent]
	// [agent: debug data review: user_correction]
	// [review] [agent]
}

func Example_langgraph4jRelease() {
	ctx := context.Background()
	led := must(ledger.Open(memstore.New(), &ledger.Options{Validate: gate.Validator()}))
	app := must(lg4jGraph().Compile(led, nil))
	must(app.Run(ctx, "my-session", MyState{Input: "one"}))
	//doc:release
	tag := must(led.Release(ctx, "my-session", &ledger.ReleaseOptions{Tags: []string{"v1"}})) // saver.release(runConfig)
	fmt.Println("Released thread:", tag.Thread, "version", tag.Version, "with", tag.Checkpoints, "checkpoints")

	_, err := app.State(ctx, "my-session") // "Missing Checkpoint!"
	fmt.Println(errors.Is(err, posthouse.ErrNotFound))

	last := must(ledger.LastRelease(ctx, led, "my-session")) // lastVersionByThreadId; Releases lists all of them
	head, _ := last.Head("")
	old := must(app.State(ctx, "my-session", graph.StateOptions{Checkpoint: head.Head}))
	//doc:end
	fmt.Println(old.State.Messages)
	must(app.Run(ctx, "my-session", MyState{Input: "two"}))
	fmt.Println(must(app.State(ctx, "my-session")).State.Messages)
	// Output:
	// Released thread: my-session version 1 with 3 checkpoints
	// true
	// [agent: one review: ]
	// [agent: two review: ]
}

func Example_langgraph4jSessions() {
	ctx := context.Background()
	led := must(ledger.Open(memstore.New(), &ledger.Options{Validate: gate.Validator()}))
	app := must(lg4jGraph().Compile(led, nil))
	//doc:sessions
	var wg sync.WaitGroup
	for _, id := range []string{"session-1", "session-2", "session-3"} {
		wg.Go(func() { must(app.Run(ctx, id, MyState{Input: id})) })
	}
	wg.Wait()
	//doc:end
	fmt.Println(must(app.State(ctx, "session-2")).State.Messages[0])
	// Output: agent: session-2
}

func Example_langgraph4jValidate() {
	ctx := context.Background()
	//doc:validate
	validating := posthouse.Rule{Name: "state is there", Check: func(_ context.Context, p *posthouse.Proposal) error {
		if c, err := p.Checkpoint(); err != nil || c != nil && len(c.State) == 0 {
			return errors.Join(err, errors.New("a checkpoint must have state data"))
		}
		return nil
	}}
	led := must(ledger.Open(memstore.New(), &ledger.Options{Rules: []posthouse.Rule{validating}}))
	//doc:end
	_, err := led.Save(ctx, posthouse.Root("t", nil), nil)
	fmt.Println(errors.Is(err, posthouse.ErrInvalid))
	// Output: true
}

func Example_langgraph4jParallel() {
	ctx := context.Background()
	led := must(ledger.Open(memstore.New(), &ledger.Options{Validate: gate.Validator()}))
	g := graph.New[MyState]("parallel")
	node := func(name string) {
		g.Node(name, func(_ context.Context, s *MyState) error { s.Messages = append(s.Messages, name); return nil })
	}
	for _, n := range []string{"a", "b", "c", "d", "e"} {
		node(n)
	}
	//doc:parallel
	g.Edge(graph.Start, "a")
	g.Edge(graph.Start, "b") // beside a
	g.Edge("a", "c")         // branches may be of any length, and may branch again
	g.Edge("c", "d")
	g.Join("e", "b", "d") // e runs once, when both have completed
	g.Edge("e", graph.End)
	//doc:end
	out := must(must(g.Compile(led, nil)).Run(ctx, "t", MyState{}))
	fmt.Println(out.State.Messages)
	// Output: [a b c d e]
}

func Example_langgraph4jLimit() {
	ctx := context.Background()
	led := must(ledger.Open(memstore.New(), &ledger.Options{Validate: gate.Validator()}))
	g := graph.New[MyState]("loop")
	g.Node("think", func(context.Context, *MyState) error { return nil })
	g.Edge(graph.Start, "think")
	g.Edge("think", "think")
	//doc:limit
	app := must(g.Compile(led, &graph.CompileOptions{RecursionLimit: 25}))
	_, err := app.Run(ctx, "t", MyState{})
	var limit *graph.RecursionError
	fmt.Println(errors.As(err, &limit), limit.Limit, limit.Cycle)
	//doc:end
	// Output: true 25 [think]
}

func Example_langgraph4jSubgraph() {
	ctx := context.Background()
	led := must(ledger.Open(memstore.New(), &ledger.Options{Validate: gate.Validator()}))
	type Outer struct{ Question, Answer string }
	sub := lg4jGraph()
	g := graph.New[Outer]("outer")
	//doc:subgraph
	graph.Subgraph(g, "agents", sub, &graph.SubOptions[Outer, MyState]{
		In:       func(s *Outer) MyState { return MyState{Input: s.Question} },
		Out:      func(s *Outer, r *MyState) error { s.Answer = r.Messages[0]; return nil },
		Lifetime: graph.PerCall, // or PerThread, Unkept
	})
	//doc:end
	g.Edge(graph.Start, "agents")
	g.Edge("agents", graph.End)
	app := must(g.Compile(led, nil))
	fmt.Println(must(app.Run(ctx, "t", Outer{Question: "why?"})).State.Answer)
	for s := range app.History(ctx, "t") {
		fmt.Println(s.Kind, s.Node)
	}
	// Output:
	// agent: why?
	// node agents
	// inner agents/agent
	// inner agents
	// input
}
