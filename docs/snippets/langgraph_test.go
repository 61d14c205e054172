package snippets_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/transfer"
)

//doc:state
// class State(TypedDict):
//     topic: str
//     messages: Annotated[list, add_messages]
//     score: Annotated[int, operator.add]

type Paper struct {
	Topic    string
	Messages []string `posthouse:"append"`
	Score    int      `posthouse:"sum"`
}

//doc:end

func write(text string) func(context.Context, *Paper) error {
	return func(_ context.Context, s *Paper) error {
		s.Messages = append(s.Messages, text)
		return nil
	}
}

func chain(names ...string) *graph.Graph[Paper] {
	g := graph.New[Paper]("paper")
	from := graph.Start
	for _, n := range names {
		g.Node(n, write(n))
		g.Edge(from, n)
		from = n
	}
	g.Edge(from, graph.End)
	return g
}

func Example_langgraphBuild() {
	ctx := context.Background()
	//doc:build
	led := must(ledger.Open(memstore.New(), nil)) // checkpointer = InMemorySaver()
	g := graph.New[Paper]("paper")                // builder = StateGraph(State)
	g.Node("plan", write("plan"))                 // builder.add_node("plan", plan)
	g.Node("draft", write("draft"))
	g.Edge(graph.Start, "plan")             // builder.add_edge(START, "plan")
	g.Route("plan", func(s *Paper) string { // builder.add_conditional_edges("plan", route)
		if s.Topic == "" {
			return graph.End
		}
		return "draft"
	}, "draft", graph.End)
	g.Edge("draft", graph.End)
	app := must(g.Compile(led, nil)) // builder.compile(checkpointer=checkpointer)

	out := must(app.Run(ctx, "1", Paper{Topic: "tea"})) // graph.invoke(input, {"configurable": {"thread_id": "1"}})
	//doc:end
	fmt.Println(out.Status, out.State.Messages)
	// Output: done [plan draft]
}

func Example_langgraphInterrupt() {
	ctx := context.Background()
	led := must(ledger.Open(memstore.New(), &ledger.Options{Validate: gate.Validator()}))
	g := graph.New[Paper]("paper")
	calls := 0
	//doc:interrupt
	g.Node("review", func(ctx context.Context, s *Paper) error {
		outline, err := step.Do(ctx, "llm", func(context.Context) (string, error) { calls++; return "outline", nil })
		if err != nil {
			return err
		}
		first, err := gate.Ask[bool](ctx, gate.Question{Name: "outline ok?", Show: outline}) // interrupt(...)
		if err != nil {
			return err
		}
		second, err := gate.Ask[*string](ctx, gate.Question{Name: "title?", AllowRequester: true}) // another one, with an id of its own; who answered the first may answer it
		if err != nil {
			return err
		}
		s.Messages = append(s.Messages, fmt.Sprint(first.Value, second.Value == nil))
		return nil
	})
	//doc:end
	g.Edge(graph.Start, "review")
	g.Edge("review", graph.End)
	led = must(ledger.Open(memstore.New(), &ledger.Options{Validate: gate.Validator()}))
	app := must(g.Compile(led, nil))
	//doc:resume
	out := must(app.Run(ctx, "1", Paper{}))
	for out.Status == posthouse.StatusWaiting {
		answer := []byte("true")
		if out.Waiting[0].Name == "title?" {
			answer = []byte("null") // null is an answer
		}
		must(led.Decide(ctx, out.Waiting[0].ID, posthouse.Decision{Verdict: posthouse.Respond, Value: answer, By: "alice"}))
		out = must(app.Resume(ctx, "1")) // Command(resume=...)
	}
	fmt.Println(out.State.Messages, "model calls:", calls)
	//doc:end
	// Output: [true true] model calls: 1
}

func Example_langgraphSend() {
	ctx := context.Background()
	led := must(ledger.Open(memstore.New(), &ledger.Options{Validate: gate.Validator()}))
	g := graph.New[Paper]("jokes")
	g.Node("subjects", write("subjects"))
	//doc:send
	graph.Task(g, "joke", func(ctx context.Context, subject string, out *Paper) error {
		out.Messages, out.Score = []string{"about " + subject}, len(subject)
		return nil
	})
	g.Map("subjects", func(s *Paper) (sends []graph.Send) { // [Send("joke", s) for s in subjects]
		for _, subject := range []string{"lions", "penguins"} {
			sends = append(sends, graph.Send{Node: "joke", Input: subject})
		}
		return sends
	}, "joke")
	//doc:end
	g.Edge(graph.Start, "subjects")
	//doc:command
	g.Command("best", func(ctx context.Context, s *Paper) (graph.Command, error) {
		s.Topic = s.Messages[1]         // Command(update=..., goto=...)
		return graph.Goto("print"), nil // Command{Parent: true} for graph=Command.PARENT
	})
	//doc:end
	g.Node("print", func(_ context.Context, s *Paper) error { fmt.Println(s.Topic, s.Score); return nil })
	g.Edge("joke", "best")
	g.Edge("print", graph.End)
	must(must(g.Compile(led, nil)).Run(ctx, "1", Paper{}))
	// Output: about lions 13
}

func Example_langgraphTimeTravel() {
	ctx := context.Background()
	led := must(ledger.Open(memstore.New(), &ledger.Options{Validate: gate.Validator()}))
	app := must(chain("plan", "draft").Compile(led, nil))
	must(app.Run(ctx, "1", Paper{Topic: "tea"}))
	//doc:travel
	var before *graph.Snapshot[Paper]
	for s, err := range app.History(ctx, "1", graph.HistoryOptions{Node: "plan", Limit: 1}) { // get_state_history
		ok(err)
		before = s
	}
	replayed := must(app.Replay(ctx, before.ID)) // invoke(None, config with checkpoint_id)

	fork := must(app.Fork(ctx, before.ID, func(s *Paper) { s.Topic = "coffee" })) // update_state(config, values), then
	forked := must(app.Resume(ctx, "1", graph.RunOptions{Branch: fork.Branch}))   // invoke(None, fork_config)
	//doc:end
	fmt.Println(replayed.Branch, replayed.State.Messages)
	fmt.Println(forked.Branch, forked.State.Topic, forked.State.Messages)
	fmt.Println(must(app.State(ctx, "1")).State.Topic)
	// Output:
	// fork-1 [plan draft]
	// fork-2 coffee [plan draft]
	// tea
}

func Example_langgraphUpdate() {
	ctx := context.Background()
	led := must(ledger.Open(memstore.New(), &ledger.Options{Validate: gate.Validator()}))
	app := must(chain("plan", "draft").Compile(led, &graph.CompileOptions{InterruptBefore: []string{"draft"}}))
	must(app.Run(ctx, "1", Paper{}))
	//doc:update
	s := must(app.Update(ctx, "1", func(s *Paper) { s.Topic = "coffee" }, graph.UpdateOptions{AsNode: "draft"})) // as_node
	b := must(app.BulkUpdate(ctx, "1", [][]graph.NodeUpdate[Paper]{                                              // bulk_update_state
		{{Node: graph.Start, Change: func(s *Paper) { s.Topic = "milk" }}},
		{{Node: "plan", Change: func(s *Paper) { s.Messages = append(s.Messages, "by hand") }}},
	}))
	//doc:end
	fmt.Println(s.Next, s.Status, b.Next, b.State.Topic)
	// Output: [] done [draft] milk
}

func Example_langgraphStream() {
	ctx := context.Background()
	led := must(ledger.Open(memstore.New(), &ledger.Options{Validate: gate.Validator()}))
	g := graph.New[Paper]("stream")
	g.Node("write", func(ctx context.Context, s *Paper) error {
		//doc:writer
		step.Token(ctx, "once")   // a message chunk; step.Writer(ctx) is an io.Writer
		step.Emit(ctx, "halfway") // get_stream_writer()(...)
		//doc:end
		s.Messages = append(s.Messages, "once")
		return nil
	})
	g.Edge(graph.Start, "write")
	g.Edge("write", graph.End)
	app := must(g.Compile(led, nil))
	//doc:stream
	modes := []runs.StreamMode{runs.StreamUpdates, runs.StreamMessages, runs.StreamCustom} // stream_mode=[...]
	for e, err := range app.Stream(ctx, "1", Paper{}, graph.RunOptions{Modes: modes, Subgraphs: true}) {
		ok(err)
		switch e.Kind {
		case runs.EventMessage:
			fmt.Println(e.Node, "says", e.Text)
		case runs.EventCustom:
			fmt.Println(e.Node, "reports", e.Value)
		case runs.EventUpdate:
			fmt.Printf("%s changed %s\n", e.Node, e.Updates["Messages"].Data)
		case runs.EventEnd:
			fmt.Println(e.Result.Status)
		}
	}
	//doc:end
	// Output:
	// write says once
	// write reports halfway
	// write changed ["once"]
	// done
}

func Example_langgraphFunctional() {
	ctx := context.Background()
	led := must(ledger.Open(memstore.New(), &ledger.Options{Validate: gate.Validator()}))
	//doc:functional
	essay := flow.New("essay", func(ctx context.Context, topic string) (int, error) { // @entrypoint(checkpointer=...)
		draft, err := step.Do(ctx, "write", func(context.Context) (string, error) { // @task
			return "an essay about " + topic, nil
		})
		if err != nil {
			return 0, err
		}
		before, _, err := flow.Previous[int](ctx) // previous
		return before + len(draft), err
	})
	//doc:end
	app := must(essay.Open(led, nil))
	must(app.Run(ctx, "1", "cats"))
	fmt.Println(must(app.Run(ctx, "1", "cats")).Output)
	// Output: 38
}

func Example_langgraphErrors() {
	ctx := context.Background()
	led := must(ledger.Open(memstore.New(), &ledger.Options{Validate: gate.Validator()}))
	g := chain("plan")
	//doc:errors
	g.Node("fetch", func(context.Context, *Paper) error { return errors.New("connection refused") },
		graph.NodeOptions{Retry: posthouse.RetryPolicy{MaxAttempts: 3, InitialDelay: -1}, Timeout: 0, IdleTimeout: 0})
	g.OnError("fetch", func(ctx context.Context, s *Paper, err error) (graph.Command, error) {
		s.Topic = "without sources: " + err.Error()
		return graph.Goto("plan"), nil
	})
	//doc:end
	g.Edge(graph.Start, "fetch")
	g.Edge("fetch", graph.End)
	out := must(must(g.Compile(led, nil)).Run(ctx, "1", Paper{}))
	fmt.Println(out.State.Topic)
	// Output: without sources: posthouse: node "fetch" of graph "paper" failed in thread "1": connection refused
}

func Example_langgraphCopy() {
	ctx := context.Background()
	led := must(ledger.Open(memstore.New(), &ledger.Options{Validate: gate.Validator()}))
	app := must(chain("plan", "draft").Compile(led, nil))
	must(app.Run(ctx, "1", Paper{}))
	//doc:admin
	must(transfer.CopyThread(ctx, led, "1", "2", nil))                                     // copy_thread
	pruned := must(retain.Run(ctx, led, retain.Policy{MaxPerThread: 1, Prefix: "2"}, nil)) // prune(["2"], strategy="keep_latest")
	gone := must(retain.DeleteThread(ctx, led, "1", nil))                                  // delete_thread
	fmt.Println(pruned.Checkpoints, gone.Checkpoints, must(app.State(ctx, "2")).State.Messages)
	//doc:end
	// Output: 2 3 [plan draft]
}
