package snippets_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/graph/draw"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/memstore"
)

//doc:state
type Report struct {
	Topic   string
	Notes   []string       `posthouse:"append"` // grows; elements are stored one by one
	Sources map[string]int `posthouse:"merge"`  // key by key
	Tokens  int            `posthouse:"sum"`
	Title   string         // replace: two different values in one step are an error
	conn    any            `posthouse:"-"` // not stored
}

//doc:end

func Example_graphFirst() {
	ctx := context.Background()
	led := must(ledger.Open(memstore.New(), nil))
	search := func(context.Context, string) (string, error) { return "found", nil }
	//doc:first
	g := graph.New[Report]("report")
	g.Node("search", func(ctx context.Context, s *Report) error {
		note, err := step.Do(ctx, "web", func(ctx context.Context) (string, error) { return search(ctx, s.Topic) })
		if err != nil {
			return err
		}
		s.Notes = append(s.Notes, note)
		return nil
	})
	g.Node("write", func(_ context.Context, s *Report) error { s.Title = "On " + s.Topic; return nil })
	g.Edge(graph.Start, "search")
	g.Route("search", func(s *Report) string {
		if len(s.Notes) < 3 {
			return "search" // once more
		}
		return "write"
	}, "search", "write")
	g.Edge("write", graph.End)

	app, err := g.Compile(led, nil) // lists everything that is wrong
	ok(err)
	out := must(app.Run(ctx, "report-1", Report{Topic: "tea"}))
	//doc:end
	fmt.Println(out.Status, out.State.Title, out.State.Notes, out.State.conn)
	// Output: done On tea [found found found] <nil>
}

func adds(note string, tokens int) func(context.Context, *Report) error {
	return func(_ context.Context, s *Report) error {
		s.Notes, s.Tokens = append(s.Notes, note), s.Tokens+tokens
		s.Sources = maps.Clone(s.Sources)
		if s.Sources == nil {
			s.Sources = map[string]int{}
		}
		s.Sources[note] = tokens
		return nil
	}
}

func Example_graphParallel() {
	ctx := context.Background()
	led := must(ledger.Open(memstore.New(), nil))
	g := graph.New[Report]("parallel")
	//doc:parallel
	g.Node("web", adds("web", 1))
	g.Node("papers", adds("papers", 2))
	g.Node("digest", adds("digest", 4))
	g.Node("write", adds("write", 8))
	g.Edge(graph.Start, "web")
	g.Edge(graph.Start, "papers") // beside web
	g.Edge("papers", "digest")
	g.Join("write", "web", "digest") // once, when both have completed
	g.Edge("write", graph.End)
	//doc:end
	out := must(must(g.Compile(led, nil)).Run(ctx, "t", Report{Tokens: 100}))
	fmt.Println(out.State.Notes, out.State.Tokens, out.State.Sources)
	// Output: [web papers digest write] 115 map[digest:4 papers:2 web:1 write:8]
}

func Example_graphConflict() {
	ctx := context.Background()
	led := must(ledger.Open(memstore.New(), nil))
	g := graph.New[Report]("conflict")
	title := func(t string) func(context.Context, *Report) error {
		return func(_ context.Context, s *Report) error { s.Title = t; return nil }
	}
	g.Node("a", title("A"))
	g.Node("b", title("B"))
	g.Edge(graph.Start, "a")
	g.Edge(graph.Start, "b")
	g.Edge("a", graph.End)
	g.Edge("b", graph.End)
	app := must(g.Compile(led, nil))
	//doc:conflict
	_, err := app.Run(ctx, "t", Report{})
	var merge *graph.MergeError
	fmt.Println(errors.As(err, &merge), merge.Part, merge.Nodes)
	//doc:end
	// Output: true Title [a b]
}

func Example_graphOverwrite() {
	led := must(ledger.Open(memstore.New(), nil))
	g := graph.New[Report]("overwrite")
	g.Node("trim", func(ctx context.Context, s *Report) error {
		//doc:overwrite
		if len(s.Notes) > 3 {
			err := graph.Overwrite(ctx, &s.Notes, s.Notes[len(s.Notes)-3:])
			if err != nil {
				return err
			}
		}
		//doc:end
		return nil
	})
	g.Edge(graph.Start, "trim")
	g.Edge("trim", graph.End)
	out := must(must(g.Compile(led, nil)).Run(context.Background(), "t", Report{Notes: []string{"a", "b", "c", "d"}}))
	fmt.Println(out.State.Notes)
	// Output: [b c d]
}

func Example_graphSends() {
	ctx := context.Background()
	led := must(ledger.Open(memstore.New(), nil))
	g := graph.New[Report]("sends")
	g.Node("plan", func(_ context.Context, s *Report) error { return nil })
	//doc:sends
	graph.Task(g, "chapter", func(ctx context.Context, topic string, out *Report) error {
		out.Notes = []string{"on " + topic} // it sees its input only; out begins empty and is merged
		return nil
	})
	g.Map("plan", func(s *Report) []graph.Send {
		return []graph.Send{{Node: "chapter", Input: "leaves"}, {Node: "chapter", Input: "water"}}
	}, "chapter")
	g.Edge("chapter", "write") // once, when all of them have completed
	//doc:end
	g.Node("write", adds("write", 1))
	g.Edge(graph.Start, "plan")
	g.Edge("write", graph.End)
	app := must(g.Compile(led, &graph.CompileOptions{Concurrency: 32}))
	fmt.Println(must(app.Run(ctx, "t", Report{})).State.Notes)
	// Output: [on leaves on water write]
}

func Example_graphRetry() {
	ctx := context.Background()
	led := must(ledger.Open(memstore.New(), nil))
	g := graph.New[Report]("retry")
	fetch := func(context.Context, *Report) error { return errors.New("503") }
	//doc:retry
	g.Node("fetch", fetch, graph.NodeOptions{
		Retry:       posthouse.RetryPolicy{MaxAttempts: 3, InitialDelay: time.Millisecond, Jitter: 0.5},
		Timeout:     time.Minute,      // of one attempt
		IdleTimeout: 20 * time.Second, // without a step, a question, a token or graph.Heartbeat(ctx)
	})
	g.OnError("fetch", func(ctx context.Context, s *Report, err error) (graph.Command, error) {
		s.Notes = append(s.Notes, "without sources")
		return graph.Command{}, nil // go on where fetch would have; or graph.Goto("...")
	})
	//doc:end
	g.Edge(graph.Start, "fetch")
	g.Edge("fetch", graph.End)
	fmt.Println(must(must(g.Compile(led, nil)).Run(ctx, "t", Report{})).State.Notes)
	// Output: [without sources]
}

func Example_graphWithin() {
	ctx := context.Background()
	led := must(ledger.Open(memstore.New(), nil))
	type Book struct{ Chapter string }
	inner := graph.New[Report]("inner")
	inner.Node("one", adds("one", 1))
	inner.Node("two", adds("two", 1), graph.NodeOptions{InterruptBefore: true})
	inner.Edge(graph.Start, "one")
	inner.Edge("one", "two")
	inner.Edge("two", graph.End)
	g := graph.New[Book]("book")
	graph.Subgraph(g, "research", inner, &graph.SubOptions[Book, Report]{
		Out: func(s *Book, r *Report) error { s.Chapter = fmt.Sprint(r.Notes); return nil },
	})
	g.Edge(graph.Start, "research")
	g.Edge("research", graph.End)
	app := must(g.Compile(led, nil))
	out := must(app.Run(ctx, "t", Book{}))
	//doc:within
	inside := must(graph.Within[Report](ctx, led, out.Checkpoint, "research")) // stopped in the middle of it
	must(graph.UpdateWithin(ctx, led, out.Checkpoint, "research", func(r *Report) {
		r.Notes = append(r.Notes, "by hand")
	}))
	//doc:end
	fmt.Println(out.Status, inside.Notes, must(app.Resume(ctx, "t")).State.Chapter)
	// Output: interrupted [one] [one by hand two]
}

func Example_graphDial() {
	ctx := context.Background()
	led := must(ledger.Open(memstore.New(), nil))
	app := must(chain("a", "b", "c").Compile(led, nil))
	//doc:dial
	must(app.Run(ctx, "t", Paper{}, graph.RunOptions{Durability: graph.Exit}))
	//doc:end
	n := 0
	for range app.History(ctx, "t") {
		n++
	}
	fmt.Println(n)
	// Output: 2
}

func Example_graphMigrate() {
	ctx := context.Background()
	led := must(ledger.Open(memstore.New(), nil))
	old := must(chain("plan", "draft").Compile(led, &graph.CompileOptions{InterruptBefore: []string{"draft"}}))
	must(old.Run(ctx, "t", Paper{Topic: "tea"}))
	g := chain("plan", "write")
	//doc:check
	app := must(g.Compile(led, nil))
	for f, err := range app.Check(ctx, nil) { // all open threads, before a deploy; nothing is written
		ok(err)
		fmt.Println(f.Thread, f.Kind, f.Err != nil)
	}
	_, err := app.Resume(ctx, "t")
	var changed *graph.ChangedError
	fmt.Println(errors.As(err, &changed), changed.Mismatches[0].Kind)
	//doc:end
	//doc:migrate
	app = must(g.Compile(led, &graph.CompileOptions{Migrations: []graph.Migration{{
		From:  old.Fingerprint(), // a string you noted with the old version
		Nodes: map[string]string{"draft": "write"},
		Parts: func(s posthouse.State) (posthouse.State, error) { delete(s, "Score"); return s, nil },
	}}}))
	out := must(app.Resume(ctx, "t"))
	//doc:end
	fmt.Println(out.Status, out.State.Messages)
	// Output:
	// t fails true
	// true node
	// done [plan write]
}

func Example_graphInput() {
	ctx := context.Background()
	led := must(ledger.Open(memstore.New(), nil))
	app := must(chain("reply").Compile(led, nil))
	//doc:turns
	must(app.Run(ctx, "chat-1", Paper{Messages: []string{"hello"}}))
	out := must(app.Run(ctx, "chat-1", Paper{Messages: []string{"and?"}})) // the next turn
	//doc:end
	fmt.Println(out.State.Messages)
	// Output: [hello reply and? reply]
}

func Example_graphVersions() {
	ctx := context.Background()
	led := must(ledger.Open(memstore.New(), nil))
	app := must(chain("plan", "draft").Compile(led, nil))
	a := must(app.Run(ctx, "report", Paper{Topic: "May"}))
	//doc:versions
	version := must(app.Release(ctx, "report", &ledger.ReleaseOptions{Tags: []string{"may"}}))
	b := must(app.Run(ctx, "report", Paper{Topic: "June"})) // the name is free: it starts over
	old := must(app.Version(ctx, "report", "may"))

	diff := must(app.Compare(ctx, a.Checkpoint, b.Checkpoint))
	//doc:end
	fmt.Println(version.Version, old.State.State.Topic, diff.Fields)
	// Output: 1 May [Topic]
}

func Example_graphInline() {
	ctx := context.Background()
	led := must(ledger.Open(memstore.New(), nil))
	g := graph.New[Paper]("outer")
	g.Node("print", write("print"))
	//doc:inline
	g.Inline("review", chain("read", "correct")) // of the same state: nodes review.read, review.correct
	g.Edge(graph.Start, "review")
	g.Edge("review", "print")
	//doc:end
	g.Edge("print", graph.End)
	out := must(must(g.Compile(led, nil)).Run(ctx, "t", Paper{}))
	fmt.Println(out.State.Messages)
	// Output: [read correct print]
}

func Example_graphPicture() {
	ctx := context.Background()
	led := must(ledger.Open(memstore.New(), nil))
	app := must(chain("plan", "draft").Compile(led, nil))
	must(app.Run(ctx, "report-1", Paper{}))
	//doc:picture
	progress := must(app.Progress(ctx, graph.ProgressOptions{Thread: "report-1"}))
	text := draw.Mermaid(app.Shape(), progress, nil) // or draw.DOT
	//doc:end
	fmt.Println(len(text) > 100)
	// Output: true
}
