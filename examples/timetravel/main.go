// Command timetravel looks for the moment where an agent went wrong. Your
// problem: it priced an order at a tenth of what it should be, last night,
// five steps in. You want to see what it knew at each step, change one thing,
// and have it go on from there, without paying for the steps before again and
// without losing what really happened.
//
//	go run ./examples/timetravel
//
// It prints the run's history, what changed between two checkpoints, where it
// stands, as a picture, and what would have come of it with the mistake put
// right, in three ways: fork with an edit, replay, update in place.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/diff"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/graph/draw"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/memstore"
)

// Quote is the state.
type Quote struct {
	Request string
	Pieces  int
	Price   int // of a piece, in cents
	Total   int
	Notes   []string `posthouse:"append"`
}

// A model is what the agent asks.
type model func(question string) int

func quotes(ask model) *graph.Graph[Quote] {
	g := graph.New[Quote]("quotes")
	// answer is a question to the model, put and paid for once.
	answer := func(ctx context.Context, question string) (int, error) {
		return step.Do(ctx, "ask", func(context.Context) (int, error) { return ask(question), nil })
	}
	g.Node("read", func(ctx context.Context, q *Quote) (err error) {
		q.Pieces, err = answer(ctx, "how many pieces: "+q.Request)
		q.Notes = append(q.Notes, fmt.Sprint(q.Pieces, " pieces"))
		return err
	})
	g.Node("price", func(ctx context.Context, q *Quote) (err error) {
		q.Price, err = answer(ctx, "price of a lamp")
		q.Notes = append(q.Notes, fmt.Sprint(q.Price, " each"))
		return err
	})
	g.Node("total", func(ctx context.Context, q *Quote) error {
		q.Total = q.Pieces * q.Price
		return nil
	})
	g.Node("ask-boss", func(ctx context.Context, q *Quote) error {
		q.Notes = append(q.Notes, "the boss knows")
		return nil
	})
	g.Node("send", func(ctx context.Context, q *Quote) error {
		q.Notes = append(q.Notes, fmt.Sprint("sent: ", q.Total))
		return nil
	})
	g.Edge(graph.Start, "read")
	g.Edge("read", "price")
	g.Edge("price", "total")
	g.Route("total", func(q *Quote) string {
		if q.Total > 10_000 {
			return "ask-boss"
		}
		return "send"
	}, "ask-boss", "send")
	g.Edge("ask-boss", "send")
	g.Edge("send", graph.End)
	return g
}

// thread is what the run is known by.
const thread = "quote-7"

// A detective writes down what they find.
type detective struct {
	app *graph.App[Quote]
	out io.Writer
}

func (d *detective) say(format string, a ...any) { fmt.Fprintf(d.out, format+"\n", a...) }

// history prints each step with what was known after it.
func (d *detective) history(ctx context.Context) error {
	for s, err := range d.app.History(ctx, thread, graph.HistoryOptions{Oldest: true}) {
		if err != nil {
			return err
		}
		d.say("%2d %-6s %-8s pieces %d, price %d, total %d, next %v", s.Step, s.Kind, s.Node, s.State.Pieces, s.State.Price, s.State.Total, s.Next)
	}
	return nil
}

// diff prints what changed from one checkpoint to another.
func (d *detective) diff(ctx context.Context, from, to posthouse.ID) error {
	c, err := d.app.Compare(ctx, from, to)
	if err != nil {
		return err
	}
	for _, p := range c.Parts {
		if p.Change == diff.DiffAdded { // it was never set before
			d.say("%s:  -> %s", p.Name, p.B.Value)
		}
		for _, change := range p.Paths {
			d.say("%s%s: %s -> %s", p.Name, change.Path, change.A, change.B)
		}
	}
	return nil
}

// picture prints the graph with where the branch stands in it, to be put into
// any Markdown page.
func (d *detective) picture(ctx context.Context, branch string) error {
	progress, err := d.app.Progress(ctx, graph.ProgressOptions{Thread: thread, Branch: branch})
	if err == nil {
		d.say("%s", draw.Mermaid(d.app.Shape(), progress, nil))
	}
	return err
}

func investigate(ctx context.Context, store posthouse.Store, ask model, out io.Writer) error {
	led, err := ledger.Open(store, nil)
	if err != nil {
		return err
	}
	defer led.Close()
	app, err := quotes(ask).Compile(led, nil)
	if err != nil {
		return err
	}
	d := &detective{app, out}

	d.say("# Last night")
	night, err := app.Run(ctx, thread, Quote{Request: "twelve lamps, please"})
	if err != nil {
		return err
	}
	if err := d.history(ctx); err != nil {
		return err
	}

	d.say("\n# What the price step did")
	read, err := app.State(ctx, thread, graph.StateOptions{Node: "read"})
	if err != nil {
		return err
	}
	price, err := app.State(ctx, thread, graph.StateOptions{Node: "price"})
	if err != nil {
		return err
	}
	if err := d.diff(ctx, read.ID, price.ID); err != nil {
		return err
	}

	if err := d.forkWithPrice(ctx, night, price.ID); err != nil {
		return err
	}
	if err := d.replay(ctx, read.ID); err != nil {
		return err
	}
	if err := d.update(ctx); err != nil {
		return err
	}

	d.say("\n# What really happened is still there")
	branches, err := app.Branches(ctx, thread)
	if err != nil {
		return err
	}
	for _, b := range branches {
		d.say("branch %s", b.Branch)
	}
	old, err := app.State(ctx, thread, graph.StateOptions{Checkpoint: night.Checkpoint})
	if err != nil {
		return err
	}
	d.say("last night: total %d, %q", old.State.Total, old.State.Notes)
	return nil
}

// forkWithPrice goes on beside the branch as if the price had been right.
func (d *detective) forkWithPrice(ctx context.Context, night *graph.Result[Quote], priced posthouse.ID) error {
	d.say("\n# With the right price: a fork, looked at before it runs")
	fork, err := d.app.Fork(ctx, priced, func(q *Quote) { q.Price = 4000 }, graph.ForkOptions{Branch: "right-price", By: "you"})
	if err != nil {
		return err
	}
	if err := d.picture(ctx, fork.Branch); err != nil {
		return err
	}
	right, err := d.app.Resume(ctx, thread, graph.RunOptions{Branch: fork.Branch})
	if err != nil {
		return err
	}
	d.say("total %d instead of %d, %q", right.State.Total, night.State.Total, right.State.Notes)
	return d.diff(ctx, night.Checkpoint, right.Checkpoint)
}

// replay runs what came after a checkpoint again, and pays for it again.
func (d *detective) replay(ctx context.Context, from posthouse.ID) error {
	d.say("\n# Was it bad luck? The price step again, with a fresh answer")
	again, err := d.app.Replay(ctx, from, graph.RunOptions{Branch: "again"})
	if err != nil {
		return err
	}
	d.say("price %d, total %d", again.State.Price, again.State.Total)
	return nil
}

// update puts the branch itself right: a child of its head, from where it goes
// on.
func (d *detective) update(ctx context.Context) error {
	d.say("\n# Put right where it happened, and sent anew")
	if _, err := d.app.Update(ctx, thread, func(q *Quote) { q.Price = 4000 }, graph.UpdateOptions{Goto: "total", By: "you"}); err != nil {
		return err
	}
	fixed, err := d.app.Resume(ctx, thread)
	if err != nil {
		return err
	}
	d.say("total %d, %q", fixed.State.Total, fixed.State.Notes)
	return nil
}

func main() {
	answers := map[string]int{"how many pieces: twelve lamps, please": 12, "price of a lamp": 400}
	ask := func(question string) int {
		fmt.Printf("(asking the model: %s)\n", question)
		return answers[question]
	}
	if err := investigate(context.Background(), memstore.New(), ask, os.Stdout); err != nil {
		log.Fatal(err)
	}
}
