package snippets_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/memstore"
)

//doc:partitions
type Input struct {
	Prompt string `json:"prompt"`
	Lang   string `json:"lang"`
}

type Research struct {
	Input       Input             // as it was asked; never written
	Scratch     []string          `posthouse:"append"` // concat
	Artifacts   map[string]string `posthouse:"merge"`  // of parallel branches, too
	Tokens      int               `posthouse:"sum"`    // diagnostics
	Confidence  graph.Mean        `posthouse:"avg"`    // a running mean
	LongestNote string            `posthouse:"longest"`
}

//doc:end

func agentosGraph() *graph.Graph[Research] {
	g := graph.New[Research]("research")
	note := func(text string) func(context.Context, *Research) error {
		return func(_ context.Context, s *Research) error {
			s.Scratch = append(s.Scratch, text)
			s.Tokens += 10
			s.LongestNote = text
			s.Confidence.Add(float64(len(text)) / 10)
			if s.Artifacts == nil {
				s.Artifacts = map[string]string{}
			}
			s.Artifacts[text] = s.Input.Prompt
			return nil
		}
	}
	//doc:fan-out
	g.Node("plan", note("plan"))
	g.Node("web", note("web"), graph.NodeOptions{Retry: posthouse.RetryPolicy{MaxAttempts: 4}})
	g.Node("papers", note("papers"))
	g.Node("write", note("write"))
	g.Edge(graph.Start, "plan")
	g.Edge("plan", "web")
	g.Edge("plan", "papers")
	g.Join("write", "web", "papers")
	g.Edge("write", graph.End)
	//doc:end
	return g
}

func Example_agentosStore() {
	ctx := context.Background()
	led := must(ledger.Open(memstore.New(), &ledger.Options{Validate: gate.Validator()}))
	app := must(agentosGraph().Compile(led, nil))
	run := must(app.Run(ctx, "run-1", Research{Input: Input{"tea", "en"}}))
	fmt.Println(run.State.Scratch, run.State.Tokens, len(run.State.Artifacts), run.State.LongestNote)

	//doc:read
	latest := must(app.State(ctx, "run-1"))                                 // latest(runId)
	plan := must(app.State(ctx, "run-1", graph.StateOptions{Node: "plan"})) // load(runId, nodeId)
	same := must(led.Get(ctx, plan.ID))                                     // get(checkpointId)
	//doc:end
	fmt.Println(latest.Node, plan.Node, same.Step)

	//doc:list
	for h, err := range led.List(ctx, posthouse.Query{Graph: "research", Thread: "run-1", Descending: true, Limit: 3}) {
		ok(err)
		fmt.Println(h.Node, h.Kind, h.Size > 0)
	}
	//doc:end

	//doc:fork
	// fork(checkpointId, {input: {prompt: "coffee"}}): a run of its own, and a link back
	fork := must(led.Fork(ctx, plan.ID, &ledger.ForkOptions{
		Thread: "run-2",
		Merge:  posthouse.State{"Input": must(posthouse.Encode(nil, map[string]string{"prompt": "coffee"}))},
	}))
	out := must(app.Resume(ctx, fork.Thread)) // resume(graph, runId)
	//doc:end
	fmt.Println(fork.Source.ID == plan.ID, out.State.Input, out.State.Scratch, out.State.Artifacts["web"])
	// Output:
	// [plan web papers write] 40 4 papers
	// write plan 1
	// write node true
	// web+papers node true
	// plan node true
	// true {coffee en} [plan web papers write] coffee
}

func Example_agentosHuman() {
	ctx := context.Background()
	led := must(ledger.Open(memstore.New(), &ledger.Options{Validate: gate.Validator()}))
	g := graph.New[Research]("publish")
	//doc:human
	g.Command("review", func(ctx context.Context, s *Research) (graph.Command, error) {
		a, err := gate.Ask[struct{}](ctx, gate.Question{Name: "publish", Text: "Publish this?", Show: s.Scratch, Auto: &gate.Auto{
			Judge: func(ctx context.Context, g *posthouse.Gate) (gate.Judgement, error) {
				return gate.Judgement{Verdict: posthouse.Approve, Confidence: 0.5, Reason: "reads well"}, nil
			},
			Threshold: 0.7,                // below it, a person is asked
			OnTimeout: gate.TimeoutReject, // with Expires
		}})
		switch {
		case err != nil:
			return graph.Command{}, err
		case a.Approved():
			return graph.Goto("yes"), nil
		}
		return graph.Goto("no"), nil
	})
	//doc:end
	say := func(text string) func(context.Context, *Research) error {
		return func(context.Context, *Research) error { fmt.Println(text); return nil }
	}
	g.Node("yes", say("published"))
	g.Node("no", say("kept"))
	g.Edge(graph.Start, "review")
	g.Edge("yes", graph.End)
	g.Edge("no", graph.End)
	app := must(g.Compile(led, nil))
	out := must(app.Run(ctx, "run-1", Research{}))
	fmt.Println(out.Status)
	must(led.Decide(ctx, out.Waiting[0].ID, posthouse.Decision{Verdict: posthouse.Reject, By: "alice"}))
	fmt.Println(must(app.Resume(ctx, "run-1")).Status)
	// Output:
	// waiting
	// kept
	// done
}

func Example_agentosEffects() {
	ctx := context.Background()
	led := must(ledger.Open(memstore.New(), &ledger.Options{Validate: gate.Validator()}))
	g := graph.New[Research]("effects")
	tries := 0
	//doc:effect
	g.Node("publish", func(ctx context.Context, s *Research) error {
		link, err := step.DoWith(ctx, "post", step.Options{Effect: posthouse.EffectExternal}, func(ctx context.Context) (string, error) {
			return post(ctx, &tries) // its first call fails
		})
		s.Scratch = append(s.Scratch, link)
		return err
	})
	//doc:end
	g.Edge(graph.Start, "publish")
	g.Edge("publish", graph.End)
	app := must(g.Compile(led, nil))
	//doc:failed
	_, err := app.Run(ctx, "run-1", Research{})
	var failed *graph.NodeError
	fmt.Println(errors.As(err, &failed) && failed.Node == "publish")
	out := must(app.Resume(ctx, "run-1")) // the failed node runs again; nothing is taken for done
	fmt.Println(out.State.Scratch)
	//doc:end
	// Output:
	// true
	// [https://example.org/1]
}

func post(_ context.Context, tries *int) (string, error) {
	*tries++
	if *tries == 1 {
		return "", errors.New("503")
	}
	return "https://example.org/1", nil
}

func Example_agentosReducer() {
	ctx := context.Background()
	led := must(ledger.Open(memstore.New(), &ledger.Options{Validate: gate.Validator()}))
	type Draft struct{ Title string }
	g := graph.New[Draft]("draft")
	//doc:custom
	graph.Merge(g, "Title", func(base string, writes []string) (string, error) {
		return strings.Join(writes, " / "), nil // base is what both began with
	})
	//doc:end
	for _, n := range []string{"a", "b"} {
		g.Node(n, func(_ context.Context, s *Draft) error { s.Title = n; return nil })
		g.Edge(graph.Start, n)
		g.Edge(n, graph.End)
	}
	fmt.Println(must(must(g.Compile(led, nil)).Run(ctx, "t", Draft{})).State.Title)
	// Output: a / b
}

func Example_agentosEvents() {
	ctx := context.Background()
	led := must(ledger.Open(memstore.New(), &ledger.Options{Validate: gate.Validator()}))
	app := must(agentosGraph().Compile(led, nil))
	//doc:events
	o := graph.RunOptions{Modes: []runs.StreamMode{runs.StreamTasks, runs.StreamMessages, runs.StreamCheckpoints}}
	for e, err := range app.Stream(ctx, "run-1", Research{}, o) {
		ok(err)
		switch e.Kind {
		case runs.EventTaskStart, runs.EventTaskFinish: // node_start, node_end
		case runs.EventMessage: // text_delta
		case runs.EventCheckpoint: // checkpoint_saved
		case runs.EventPark, runs.EventEnd: // interrupt, run_end: always the last
			fmt.Println(e.Kind, e.Result.Status)
		}
	}
	//doc:end
	// Output: end done
}

func Example_agentosPolicy() {
	led := must(ledger.Open(memstore.New(), &ledger.Options{Validate: gate.Validator()}))
	g := agentosGraph()
	//doc:policy
	app, err := g.Compile(led, &graph.CompileOptions{Snapshots: graph.SnapshotNone}) // "none"; a node can say otherwise
	//doc:end
	ok(err)
	out := must(app.Run(context.Background(), "run-1", Research{}))
	n := 0
	for range app.History(context.Background(), "run-1") {
		n++
	}
	fmt.Println(out.Status, n)
	// Output: done 2
}
