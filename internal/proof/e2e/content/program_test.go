package content_test

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/step"
)

// An order is the input of a random program, what it pays for, and a graph's state.
type order struct {
	Amount int
	Round  int // of a graph with a loop
}

// A randomProgram is what a world runs: its deals, in a flow or in a graph.
type randomProgram interface {
	begin(ctx context.Context, thread string, o order) error
	resume(ctx context.Context, thread, branch string) error
	fork(ctx context.Context, id posthouse.ID, change func(*order), thread string) error
	update(ctx context.Context, thread, branch string, change func(*order)) error
}

// program builds the program as it is deployed now.
func (w *world) program() randomProgram {
	if w.graph {
		return w.asGraph(w.version)
	}
	return w.asFlow(w.version)
}

// make proposes and makes a deal's payments.
func (w *world) make(ctx context.Context, i int, o order, version int) error {
	d := &w.deals[i]
	for range 1 + boolInt(d.again) {
		if err := w.deal(ctx, fmt.Sprint("deal", i), d, bankTransfer{"bob", o.Amount + i}, version); err != nil {
			return err
		}
	}
	return nil
}

type asFlow struct{ *flow.App[order, string] }

// asFlow makes the deals in a row, some of them in goroutines.
func (w *world) asFlow(version int) asFlow {
	return asFlow{must(flow.New("random", func(ctx context.Context, o order) (string, error) {
		var all sync.WaitGroup
		errs := make([]error, len(w.deals))
		for i := range w.deals {
			if w.deals[i].beside {
				all.Go(func() { errs[i] = w.make(step.Unordered(ctx), i, o, version) })
				continue
			}
			errs[i] = w.make(step.Unordered(ctx), i, o, version)
			if errs[i] != nil {
				break
			}
		}
		all.Wait()
		return "done", errors.Join(errs...)
	}).Open(w.ledger, nil))(&house{T: w.t})}
}

func (a asFlow) begin(ctx context.Context, thread string, o order) error {
	_, err := a.Run(ctx, thread, o)
	return err
}

func (a asFlow) resume(ctx context.Context, thread, branch string) error {
	_, err := a.Resume(ctx, thread, flow.RunOptions{Branch: branch})
	return err
}

func (a asFlow) fork(ctx context.Context, id posthouse.ID, change func(*order), thread string) error {
	_, err := a.Fork(ctx, id, change, flow.ForkOptions{Thread: thread})
	return err
}

// update does nothing: the input of a flow changes in a fork.
func (a asFlow) update(context.Context, string, string, func(*order)) error { return nil }

type asGraph struct{ *graph.App[order] }

// asGraph has a node for each deal: one after the other, or beside the ones before
// it, with retries, and perhaps all of them once more.
func (w *world) asGraph(version int) asGraph {
	g := graph.New[order]("random")
	before, stage := []string{graph.Start}, []string(nil)
	for i := range w.deals {
		name := fmt.Sprint("deal", i)
		g.Node(name, func(ctx context.Context, o *order) error { return w.make(step.Unordered(ctx), i, *o, version) },
			graph.NodeOptions{Retry: posthouse.RetryPolicy{MaxAttempts: w.deals[i].retries + 1, InitialDelay: -1}})
		if !w.deals[i].beside && stage != nil {
			before, stage = stage, nil
		}
		for _, b := range before {
			g.Edge(b, name)
		}
		stage = append(stage, name)
	}
	g.Node("count", func(_ context.Context, o *order) error { o.Round++; return nil })
	for _, name := range stage {
		g.Edge(name, "count")
	}
	g.Route("count", func(o *order) string {
		if w.rounds > o.Round {
			return "deal0"
		}
		return graph.End
	}, "deal0", graph.End)
	return asGraph{must(g.Compile(w.ledger, nil))(&house{T: w.t})}
}

func (a asGraph) begin(ctx context.Context, thread string, o order) error {
	_, err := a.Run(ctx, thread, o)
	return err
}

func (a asGraph) resume(ctx context.Context, thread, branch string) error {
	_, err := a.Resume(ctx, thread, graph.RunOptions{Branch: branch})
	return err
}

func (a asGraph) fork(ctx context.Context, id posthouse.ID, change func(*order), thread string) error {
	_, err := a.Fork(ctx, id, change, graph.ForkOptions{Thread: thread})
	return err
}

func (a asGraph) update(ctx context.Context, thread, branch string, change func(*order)) error {
	_, err := a.Update(ctx, thread, change, graph.UpdateOptions{Branch: branch})
	return err
}
