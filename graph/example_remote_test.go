package graph_test

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/dispatch"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runner"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/worker"
)

// A Letter is checked by a worker, which sees its text only.
type Letter struct {
	From, Text string
	Words      int
}

// A worker handles a node. Here it is in the same process; package natstask and package
// httptask reach the engine from other hosts.
func ExampleGraph_Remote() {
	counted := make(chan Letter, 1)
	g := graph.New[Letter]("letter")
	g.Remote("count", graph.Remote[Letter, string, int]{
		Task: "words",
		In:   func(l *Letter) (string, error) { return l.Text, nil },
		Out:  func(l *Letter, words int) error { l.Words = words; return nil },
	})
	g.Node("tell", func(_ context.Context, l *Letter) error { counted <- *l; return nil })
	g.Edge(graph.Start, "count")
	g.Edge("count", "tell")
	g.Edge("tell", graph.End)

	led, _ := ledger.Open(memstore.New(), nil)
	defer led.Close()
	app, err := g.Compile(led, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	engine, _ := dispatch.New(led, nil)
	resumes, _ := runner.New(led, &runner.Options{Programs: []posthouse.Program{app}})
	w, _ := worker.New(engine, &worker.Options{Name: "w1"})
	worker.Handle(w, "words", func(_ worker.Task, text string) (int, error) { return len(strings.Fields(text)), nil })

	ctx, stop := context.WithCancel(context.Background())
	out, err := app.Run(ctx, "letter-1", Letter{From: "alice", Text: "see you on Monday"})
	fmt.Println(out.Status, out.Next, err) // nothing is held, and a worker may come next week
	var all sync.WaitGroup
	for _, run := range []func(context.Context) error{engine.Run, resumes.Run, w.Run} {
		all.Go(func() { run(ctx) })
	}
	fmt.Printf("%+v\n", <-counted)
	stop()
	all.Wait()
	// Output:
	// waiting [count] <nil>
	// {From:alice Text:see you on Monday Words:4}
}

// A Trip is booked by a worker, once somebody has approved it.
type Trip struct {
	To      string
	Grant   gate.Grant
	Booking string
}

// A worker acts under an approval. It is given what was approved, also if that was edited.
func ExampleRemote_approved() {
	booked := make(chan Trip, 1)
	g := graph.New[Trip]("trip")
	g.Node("propose", func(ctx context.Context, t *Trip) (err error) {
		t.Grant, err = gate.Propose(ctx, gate.Question{Name: "book", Text: "Book the trip?"}, t.To)
		return err
	})
	g.Remote("book", graph.Remote[Trip, string, string]{
		Task: "book",
		Act: func(ctx context.Context, t *Trip, open func(context.Context, string) (string, error)) (string, error) {
			return gate.Act(ctx, "book", t.Grant, open)
		},
		Out: func(t *Trip, booking string) error { t.Booking = booking; return nil },
	})
	g.Node("tell", func(_ context.Context, t *Trip) error { booked <- *t; return nil })
	g.Edge(graph.Start, "propose")
	g.Edge("propose", "book")
	g.Edge("book", "tell")
	g.Edge("tell", graph.End)

	led, _ := ledger.Open(memstore.New(), &ledger.Options{RequireGrants: true, Validate: gate.Validator()})
	defer led.Close()
	app, err := g.Compile(led, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	engine, _ := dispatch.New(led, nil)
	resumes, _ := runner.New(led, &runner.Options{Programs: []posthouse.Program{app}})
	w, _ := worker.New(engine, &worker.Options{Name: "w1"})
	worker.Handle(w, "book", func(_ worker.Task, to string) (string, error) { return "a seat to " + to, nil })

	out, err := app.Run(context.Background(), "trip-1", Trip{To: "Turin"})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	led.Decide(ctx, out.Waiting[0].ID, posthouse.Decision{Verdict: posthouse.Edit, Value: []byte(`"Trento"`), By: "ann"})
	var all sync.WaitGroup
	for _, run := range []func(context.Context) error{engine.Run, resumes.Run, w.Run} {
		all.Go(func() { run(ctx) })
	}
	trip := <-booked
	fmt.Println(trip.Booking)
	stop()
	all.Wait()
	// Output: a seat to Trento
}
