// Command research reads many sources at once and makes one report of them.
// Your problem: a hundred calls to slow services that fail for a while, in a process
// that may die in the middle. A source must not be read twice, and not all of them
// at once.
//
//	go run ./examples/research tea coffee cocoa
//	go run ./examples/research --stop-after 2 tea coffee cocoa   # die in the middle
//	go run ./examples/research --resume                          # and go on
//
// The node plan sends a task for each topic (the map). Four of them run at once, and
// each result is on record as soon as it is there. The results are merged by the
// rules in the tags of [Research] (the reduce). A subgraph then writes the report and
// reviews it until it is good enough.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

// A Finding is what was found out about a topic.
type Finding struct {
	Topic, Text string
}

// Research is the state. The tags say how what tasks leave is merged.
type Research struct {
	Topics   []string
	Findings []Finding  `posthouse:"append"` // in the order of the topics
	Words    int        `posthouse:"sum"`
	Sources  []string   `posthouse:"set"` // each once
	Longest  string     `posthouse:"longest"`
	Trust    graph.Mean `posthouse:"avg"`
	Report   string
}

// Writing is the state of the subgraph, which knows nothing of the rest.
type Writing struct {
	Findings []Finding
	Draft    string
	Rounds   int
}

// A library is where topics are read about.
type library func(ctx context.Context, topic string) (text, source string, err error)

// errBusy is a library's way to say: later.
var errBusy = errors.New("the library is busy")

func research(read library) *graph.Graph[Research] {
	g := graph.New[Research]("research")
	g.Node("plan", func(ctx context.Context, s *Research) error {
		slices.Sort(s.Topics)
		s.Topics = slices.Compact(s.Topics)
		return nil
	})
	graph.Task(g, "read", func(ctx context.Context, topic string, out *Research) error {
		text, source, err := read(ctx, topic)
		if err != nil {
			return err
		}
		out.Findings = []Finding{{topic, text}}
		out.Words = len(strings.Fields(text))
		out.Sources = []string{source}
		out.Longest = text
		out.Trust.Add(1 / float64(1+len(source)))
		return nil
	}, graph.NodeOptions{
		Effect:  posthouse.EffectRead,
		Timeout: time.Minute, // of each attempt
		Retry:   posthouse.RetryPolicy{MaxAttempts: 6, InitialDelay: 10 * time.Millisecond},
		RetryOn: func(err error) bool { return errors.Is(err, errBusy) },
	})
	graph.Subgraph(g, "report", writing(), &graph.SubOptions[Research, Writing]{
		In:  func(s *Research) Writing { return Writing{Findings: s.Findings} },
		Out: func(s *Research, w *Writing) error { s.Report = w.Draft; return nil },
	})
	g.Edge(graph.Start, "plan")
	g.Map("plan", func(s *Research) []graph.Send {
		var sends []graph.Send
		for _, topic := range s.Topics {
			sends = append(sends, graph.Send{Node: "read", Input: topic})
		}
		return sends
	}, "read")
	g.Edge("read", "report")
	g.Edge("report", graph.End)
	return g
}

// writing writes and reviews until the review has nothing to say.
func writing() *graph.Graph[Writing] {
	g := graph.New[Writing]("writing")
	g.Node("write", func(ctx context.Context, w *Writing) (err error) {
		w.Draft, err = step.Do(ctx, "draft", func(context.Context) (string, error) {
			lines := []string{fmt.Sprintf("Report, version %d", w.Rounds+1)}
			for _, f := range w.Findings {
				lines = append(lines, "- "+f.Topic+": "+f.Text)
			}
			return strings.Join(lines, "\n"), nil
		})
		w.Rounds++
		return err
	})
	g.Edge(graph.Start, "write")
	g.Route("write", func(w *Writing) string {
		if w.Rounds < 2 {
			return "write" // no first version is good enough
		}
		return graph.End
	}, "write", graph.End)
	return g
}

// work runs the research, or goes on with it where there are no topics.
func work(ctx context.Context, store posthouse.Store, read library, topics []string) (*graph.Result[Research], error) {
	led, err := ledger.Open(store, nil)
	if err != nil {
		return nil, err
	}
	defer led.Close()
	app, err := research(read).Compile(led, &graph.CompileOptions{Concurrency: 4})
	if err != nil {
		return nil, err
	}
	if len(topics) == 0 {
		return app.Resume(ctx, "research")
	}
	return app.Run(ctx, "research", Research{Topics: topics})
}

// shelf stands for a service: it has something to say about everything.
func shelf(_ context.Context, topic string) (text, source string, err error) {
	fmt.Println("reading about", topic)
	return "there is much to say about " + topic, "shelf " + topic[:1], nil
}

func run(ctx context.Context) error {
	stop := flag.Int("stop-after", 0, "die when so many topics have been begun")
	resume := flag.Bool("resume", false, "go on with the last research")
	flag.Parse()
	if (flag.NArg() > 0) == *resume {
		return errors.New("say topics, or --resume")
	}
	path := filepath.Join(os.TempDir(), "posthouse-research.db")
	if !*resume {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	store, err := sqlitestore.Open(ctx, path, nil)
	if err != nil {
		return err
	}
	defer store.Close()
	begun := make(chan struct{}, *stop)
	out, err := work(ctx, store, func(ctx context.Context, topic string) (string, string, error) {
		if *stop > 0 {
			select {
			case begun <- struct{}{}:
			default:
				os.Exit(1) // as kill -9 would
			}
		}
		return shelf(ctx, topic)
	}, flag.Args())
	if err != nil {
		return err
	}
	fmt.Printf("%s\n\n%d words from %v\n", out.State.Report, out.State.Words, out.State.Sources)
	return nil
}

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}
