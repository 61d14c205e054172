package graph

import (
	"context"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/frontier"
	"github.com/posthouse/posthouse/graph/internal/route"
	"github.com/posthouse/posthouse/graph/internal/topology"
	"github.com/posthouse/posthouse/ledger"
)

// Edge leads from a node, or from Start, to a node, or to End. Several edges from one
// place are all followed at once.
func (g *Graph[S]) Edge(from, to string) {
	g.transitions = append(g.transitions, route.Transition{Transition: topology.Transition{From: from, To: []string{to}, Kind: topology.Edge}})
}

// Join leads to a node once all of these nodes have completed since it last ran. They may
// complete in different steps. A node with an edge from each of them instead runs after
// each. If one of them never completes, the run fails with a [JoinError] when
// nothing else is left. Where branches may be left out, use NodeOptions.Defer.
func (g *Graph[S]) Join(to string, from ...string) {
	g.joins = append(g.joins, topology.Join{To: to, From: slices.Clone(from)})
}

// Route leads to the node, or End, that the function names. The function sees the state
// as the node left it. It must only read it, and depend on nothing else. If targets are
// given, it may lead nowhere else, and Compile checks them.
func (g *Graph[S]) Route(from string, choose func(s *S) string, targets ...string) {
	g.transitions = append(g.transitions, route.Transition{Transition: topology.Transition{From: from, To: slices.Clone(targets), Kind: topology.Route}, Route: untyped(choose)})
}

// Routes is [Graph.Route] to any number of nodes at once. No node ends this branch.
func (g *Graph[S]) Routes(from string, routes func(s *S) []string, targets ...string) {
	g.transitions = append(g.transitions, route.Transition{Transition: topology.Transition{From: from, To: slices.Clone(targets), Kind: topology.Routes}, Routes: untyped(routes)})
}

// Map sends inputs to tasks, as many as the function returns: the map of a map-reduce.
// The tasks' writes are merged into the state by the rules of its parts. Targets are
// as for [Graph.Route].
func (g *Graph[S]) Map(from string, sends func(s *S) []Send, targets ...string) {
	w := route.Transition{Transition: topology.Transition{From: from, To: slices.Clone(targets), Kind: topology.Map}}
	if sends != nil {
		w.Sends = func(s any) []topology.Send { return inputs(sends(s.(*S))) }
	}
	g.transitions = append(g.transitions, w)
}

// A Send runs a [Task] node with an input of its own.
type Send struct {
	Node        string
	Input       any           // of the type that the node takes; stored with the checkpoint until it ran
	Timeout     time.Duration // of one attempt of this task; 0: as NodeOptions.Timeout says
	IdleTimeout time.Duration // as NodeOptions.IdleTimeout
}

// A Command says where a node leads, in place of its edges and routes. The zero
// Command leaves that to them; [Stop] leads nowhere.
type Command struct {
	Goto   []string // nodes, or End
	Send   []Send   // and inputs for tasks
	Parent bool     // Goto and Send are of the graph around a subgraph, which ends here
}

// Goto leads to nodes, or to End.
func Goto(nodes ...string) Command { return Command{Goto: nodes} }

// Stop leads nowhere: this branch ends, whatever edges there are.
func Stop() Command { return Command{Goto: []string{End}} }

func (c *Command) isZero() bool { return len(c.Goto)+len(c.Send) == 0 && !c.Parent }

// inputs returns sends as the graph below knows them.
func inputs(sends []Send) []topology.Send {
	all := make([]topology.Send, len(sends))
	for i, s := range sends {
		all[i] = topology.Send(s)
	}
	return all
}

// route returns where the run goes on after a node: where the command says, or else where
// its transitions lead.
func (a *plan) route(n *node, may []string, cmd *Command, s any) ([]frontier.Target, error) {
	if cmd.isZero() {
		return route.Follow(a.Graph, n.transitions, s)
	}
	return a.Resolve("command of", n.Name, may, cmd.Goto, inputs(cmd.Send))
}

// follow returns where the transitions of a node, or of Start, lead from a state.
func (a *plan) follow(from string, s any) ([]frontier.Target, error) {
	if from == Start {
		return route.Follow(a.Graph, a.start, s)
	}
	return route.Follow(a.Graph, a.nodes[from].transitions, s)
}

// followInterrupted follows the transitions of nodes that the run was stopped after, from
// the state as it is now.
func (r *run) followInterrupted(ctx context.Context) error {
	if r.frontier.Ends() {
		r.frontier.Tasks = nil
		r.record.newChange(posthouse.KindNode, posthouse.StatusDone, r.sess.Head().Node)
		_, err := r.record.commit(ctx, &ledger.Draft{})
		return err
	}
	var ends []topology.Completion
	var names []string
	var rest []frontier.Target
	for i := range r.frontier.Tasks {
		t := &r.frontier.Tasks[i]
		n := r.app.node(t)
		if !t.Edges || n == nil { // the next step reports a node that is gone
			rest = append(rest, *t)
			continue
		}
		names = append(names, n.Name)
		next, err := r.app.follow(n.Name, r.live.Value)
		if err != nil {
			return r.commitFailure(ctx, posthouse.EscapeName(n.Name), nil, err)
		}
		ends = append(ends, topology.Completion{Of: &n.Self[0], Next: next})
	}
	if len(names) == 0 {
		return nil
	}
	if len(rest) > 0 {
		ends = append(ends, topology.Completion{Next: rest})
	}
	next := &frontier.Frontier{}
	if err := r.app.AdvanceFrontier(r.frontier, next, ends); err != nil {
		return r.commitFailure(ctx, frontier.JoinNames(names), nil, err)
	}
	next.Step = r.frontier.Step // it is the same step still
	r.frontier = next
	if len(r.frontier.Tasks) > 0 {
		return nil
	}
	r.record.newChange(posthouse.KindNode, posthouse.StatusDone, frontier.JoinNames(names))
	_, err := r.record.commit(ctx, &ledger.Draft{})
	return err
}
