package graph

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/frontier"
	"github.com/posthouse/posthouse/graph/internal/migrate"
	"github.com/posthouse/posthouse/graph/internal/recorded"
	"github.com/posthouse/posthouse/graph/internal/state"
	"github.com/posthouse/posthouse/graph/internal/subparts"
	"github.com/posthouse/posthouse/graph/internal/topology"
	"github.com/posthouse/posthouse/ledger"
)

// routeFork chooses the next nodes of a fork with another state from that state, where the
// source's were chosen by routes and maps of the graph from its own. The choices of nodes, by a
// command, stay, and so does all if the source is gone. The choice is on record before a node
// runs.
//
// Tasks that are next on both sides continue with what they have on record. The others begin,
// under new names: what a task recorded about another input is not theirs.
func (r *run) routeFork(ctx context.Context) error {
	h := r.sess.Head()
	if r.subrun != nil || h.Kind != posthouse.KindFork || h.Source == nil || len(r.frontier.Tasks) == 0 {
		return nil
	}
	if slices.ContainsFunc(r.frontier.Tasks, func(t frontier.Target) bool { return t.Edges }) {
		return nil // the edges are followed from this state in any case
	}
	head, err := r.readHead(ctx)
	if err != nil {
		return err
	}
	line, err := r.lineToStep(ctx, head)
	if line == nil || err != nil || !isChanged(line) {
		return err
	}
	next, err := r.nextOfFork(ctx, line)
	if next == nil || err != nil {
		return err
	}
	return r.takeNext(ctx, next)
}

// isChanged reports whether the fork that a line begins with, or one that it was made of before that
// was resumed, has another state than its source, and does not keep its next nodes.
func isChanged(line []*posthouse.Checkpoint) bool {
	for i := 0; i+1 < len(line) && line[i].Kind == posthouse.KindFork; i++ {
		if recorded.KeepsNext(line[i]) {
			return false
		}
		if !maps.EqualFunc(line[i].State, line[i+1].State, sameValue) {
			return true
		}
	}
	return false
}

// nextOfFork returns what the graph chooses from the state of the fork that a line begins with. It is nil if
// the graph did not choose what is next from a state on that line.
func (r *run) nextOfFork(ctx context.Context, line []*posthouse.Checkpoint) (*frontier.Frontier, error) {
	a, made := r.app, line[len(line)-1]
	if len(migrate.From(a.version().Migrations, made.Fingerprint, a.fingerprint)) > 0 {
		return nil, nil
	}
	before := frontier.Frontier{}
	if made.Kind != posthouse.KindInput && made.Parent != "" {
		p, err := a.ledger.Get(ctx, made.Parent)
		if gone(err) {
			return nil, nil
		}
		if err != nil {
			return nil, r.sess.Unanswered(err)
		}
		before, err = frontier.ReadFrontier(p.Next, p.Program, frontier.PlanPart)
		if err != nil {
			return nil, nil
		}
	}
	chose := slices.ContainsFunc(line[1:], func(c *posthouse.Checkpoint) bool {
		was, err := state.Decode(a.Schema, &posthouse.Checkpoint{Header: made.Header, State: c.State})
		if err != nil {
			return false
		}
		old, err := a.choose(made, &before, was.Value)
		return old != nil && err == nil && sameNext(old, r.frontier)
	})
	if !chose {
		return nil, nil // a node chose, or a person, or other code
	}
	next, err := a.choose(made, &before, r.live.Value)
	if err != nil { // nothing is on record: the next resume chooses again
		return nil, fmt.Errorf("posthouse: the next nodes of fork %s of thread %s: %w", r.sess.Branch(), r.sess.Thread(), err)
	}
	return next, nil
}

// lineToStep returns a checkpoint and those that it comes from, up to the one that chose what is next at it. It
// is nil if a person chose, or if one of them is gone.
func (r *run) lineToStep(ctx context.Context, c *posthouse.Checkpoint) (line []*posthouse.Checkpoint, err error) {
	for {
		line = append(line, c)
		id := c.Parent
		switch c.Kind {
		case posthouse.KindNode, posthouse.KindInput:
			return line, nil
		case posthouse.KindWait, posthouse.KindFail, posthouse.KindEvent, posthouse.KindInner, posthouse.KindCancel, posthouse.KindRestartStep, posthouse.KindUpdate:
		case posthouse.KindFork:
			if c.Source != nil {
				id = c.Source.ID
			}
		default:
			return nil, nil
		}
		if id == "" {
			return nil, nil
		}
		up, err := r.app.ledger.Get(ctx, id)
		if gone(err) {
			return nil, nil
		}
		if err != nil {
			return nil, r.sess.Unanswered(err)
		}
		if c.Kind == posthouse.KindUpdate && !posthouse.GoesOn(&c.Header, &up.Header) {
			return nil, nil
		}
		c = up
	}
}

// choose returns where the nodes that a checkpoint completed lead from a state, nil if it does not
// say which these are.
func (a *core) choose(made *posthouse.Checkpoint, before *frontier.Frontier, s any) (*frontier.Frontier, error) {
	var ends []topology.Completion
	if made.Kind == posthouse.KindInput {
		next, err := a.follow(Start, s)
		if err != nil {
			return nil, err
		}
		ends = append(ends, topology.Completion{Next: next})
	} else {
		for name := range strings.SplitSeq(made.Node, "+") {
			n := a.nodes[frontier.UnescapeName(name)]
			if n == nil {
				return nil, nil
			}
			next, err := a.follow(n.Name, s)
			if err != nil {
				return nil, err
			}
			ends = append(ends, topology.TaskCompletion(&n.Self[0], next))
		}
	}
	next := &frontier.Frontier{}
	return next, a.AdvanceFrontier(before, next, ends)
}

// takeNext makes a choice the run's frontier, and puts it on record if it differs.
func (r *run) takeNext(ctx context.Context, next *frontier.Frontier) error {
	if sameNext(next, r.frontier) {
		return nil
	}
	old := r.frontier
	next.Call, next.Step, next.Skipped, next.Epoch, next.Renamed, next.Names = old.Call, old.Step, old.Skipped, old.Epoch, old.Renamed, old.Names
	all, err := r.app.ledger.Core().Executions(ctx, r.sess.Head())
	if err != nil {
		return r.sess.Unanswered(err)
	}
	var keep []posthouse.ID
	if len(all) > 0 {
		keep = continueTasks(old, next, &recorded.Progress{Head: r.sess.Head(), Latest: true, All: all})
		next.Epoch = max(old.Epoch, r.record.step+uint64(old.Skipped)) + 1
	}
	r.frontier = next
	kind, status := posthouse.KindEvent, posthouse.StatusRunning
	switch {
	case len(next.Tasks) == 0:
		kind, status = posthouse.KindNode, posthouse.StatusDone
	case r.stopsBeforeNew(old):
		status = posthouse.StatusInterrupted
	}
	c := r.record.newChange(kind, status, "")
	c.Program = subparts.Orphans(r.program, next)
	_, err = r.record.commit(ctx, &ledger.Draft{Keep: keep})
	return err
}

// continueTasks has tasks of a choice continue that are under way on the old frontier, and returns
// the gates that they have open.
func continueTasks(old, next *frontier.Frontier, began *recorded.Progress) (open []posthouse.ID) {
	taken := make([]bool, len(old.Tasks))
	next.Tasks = slices.Clone(next.Tasks) // they may be the App's
	for i := range next.Tasks {
		t := &next.Tasks[i]
		for j := range old.Tasks {
			if !taken[j] && sameTask(&old.Tasks[j], t) {
				taken[j], t.Key = true, began.Began(old, j)
				break
			}
		}
		if t.Key != "" {
			open = append(open, began.Open(t.Key)...)
		}
	}
	return open
}

// stopsBeforeNew reports whether the run stops before a node that was not next.
func (r *run) stopsBeforeNew(old *frontier.Frontier) bool {
	nodes := old.Nodes()
	return slices.ContainsFunc(r.frontier.Tasks, func(t frontier.Target) bool {
		return !slices.Contains(nodes, t.Node) && r.app.node(&t).stopsBefore(&r.breakpoints)
	})
}

// sameNext reports whether two frontiers have the same to run.
func sameNext(a, b *frontier.Frontier) bool {
	return slices.EqualFunc(a.Tasks, b.Tasks, func(x, y frontier.Target) bool { return sameTask(&x, &y) }) &&
		slices.Equal(a.Deferred, b.Deferred) && len(a.Arrived) == len(b.Arrived) && (len(a.Arrived) == 0 || reflect.DeepEqual(a.Arrived, b.Arrived))
}

// sameTask reports whether two tasks are of one node with one input.
func sameTask(a, b *frontier.Target) bool {
	if a.Node != b.Node || (a.Input == nil) != (b.Input == nil) || a.Timeout != b.Timeout || a.IdleTimeout != b.IdleTimeout {
		return false
	}
	return a.Input == nil || sameValue(*a.Input, *b.Input)
}

func sameValue(a, b posthouse.Value) bool { return a.Codec == b.Codec && bytes.Equal(a.Data, b.Data) }

// gone reports whether a checkpoint is no longer there, or cannot be read any more.
func gone(err error) bool {
	return errors.Is(err, posthouse.ErrNotFound) || errors.Is(err, posthouse.ErrSealed)
}
