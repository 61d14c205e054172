package graph

import (
	"context"
	"errors"
	"reflect"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/calls"
	"github.com/posthouse/posthouse/graph/internal/migrate"
	"github.com/posthouse/posthouse/graph/internal/state"
	"github.com/posthouse/posthouse/graph/internal/subparts"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/ledger"
)

// WithinOptions refine [Within] and [UpdateWithin]. The zero value is useful.
type WithinOptions struct {
	Codec posthouse.Codec // of the graph around; default posthouse.JSON
	By    string          // who updates
}

// Within reads the state of a subgraph as of a checkpoint. The path is that of
// the checkpoints it made, without their last node: "research", or
// "research/deep" of a subgraph in a subgraph; in a name, a slash and a percent
// sign are written as [posthouse.EscapeName] does. T is the subgraph's state.
// [posthouse.ErrNotFound] if there is none on record there: it had not begun,
// had ended, or is kept by nobody.
//
// A path leads through subgraphs that run in threads of their own, too: of a
// branch's head to where those threads are now, of an older checkpoint, and of a
// fork that has not gone on, to where they were when the caller parked or when
// their last call ended. One that lives per call had ended when its call did.
func Within[T any](ctx context.Context, l *ledger.Ledger, checkpoint posthouse.ID, path string, o ...WithinOptions) (*T, error) {
	_, s, _, err := subgraphState[T](ctx, l, checkpoint, path, o)
	return s, err
}

// UpdateWithin changes the state of a subgraph by hand, at the head of its
// branch: it makes a child of the head, of kind update, and runs nothing.
// Resuming goes on inside the subgraph with the new state: steps and answers on
// record count. Questions that were open are cancelled; their nodes ask anew. To
// change the past, fork first. Where a path leads through threads of their own,
// it is the head of the last one's that gets the child; resume the caller then.
// [posthouse.ErrConflict] if the checkpoint is not its branch's head, or is a
// fork whose own thread of the subgraph has not begun: resume it first.
func UpdateWithin[T any](ctx context.Context, l *ledger.Ledger, checkpoint posthouse.ID, path string, change func(*T), o ...WithinOptions) (*posthouse.Header, error) {
	in, s, p, err := subgraphState[T](ctx, l, checkpoint, path, o)
	if err != nil {
		return nil, err
	}
	if in.past {
		return nil, &posthouse.Error{
			Code: posthouse.CodeConflict, Message: "what subgraph " + path + " is at checkpoint " + string(checkpoint) + " is past, or another thread's",
			Hint: "update at the head of a branch that has called it",
		}
	}
	if err := applyChange(change, s); err != nil {
		return nil, err
	}
	opt, _ := engine.One(o)
	parts, err := p.Write(s, in.state().State)
	if err != nil {
		return nil, err
	}
	c := in.at
	up := &posthouse.Change{
		Parent: c.ID, Kind: posthouse.KindUpdate, Status: posthouse.StatusInterrupted, Graph: c.Graph, Fingerprint: c.Fingerprint,
		Node: c.Node, Next: c.Next, By: opt.By, SameStep: true,
	}
	if len(c.Next) == 0 {
		up.Status, up.SameStep = c.Status, false
	}
	if up.Parts = parts; in.path != "" {
		up.Parts, up.Program = nil, parts
		for i := range parts {
			parts[i].Name = subparts.StateName(in.path) + parts[i].Name
		}
	}
	done, err := l.Commit(ctx, &ledger.Draft{Thread: c.Thread, Branch: c.Branch, Head: &c.ID, Checkpoint: up})
	if err != nil {
		return nil, err
	}
	return done.Checkpoint, nil
}

// ThreadWithin names the thread that a subgraph's state is in, as of a
// checkpoint, by a path as for [Within]: one of its own, or the one that called
// it. [posthouse.ErrNotFound].
func ThreadWithin(ctx context.Context, l *ledger.Ledger, checkpoint posthouse.ID, path string) (string, error) {
	c, err := l.Get(ctx, checkpoint)
	if err != nil {
		return "", err
	}
	in, err := findSubgraph(ctx, l, c, migrate.EscapePath(path))
	if err != nil {
		return "", err
	}
	return in.at.Thread, nil
}

func (o *WithinOptions) codec() posthouse.Codec {
	if o.Codec == nil {
		return posthouse.JSON
	}
	return o.Codec
}

func subgraphState[T any](ctx context.Context, l *ledger.Ledger, id posthouse.ID, path string, o []WithinOptions) (*subgraphRef, *T, *state.Schema, error) {
	opt, err := engine.One(o)
	if err != nil {
		return nil, nil, nil, err
	}
	p, bad := newSchema(reflect.TypeFor[T](), opt.codec(), false)
	if len(bad) > 0 {
		return nil, nil, nil, posthouse.Invalid("state", "%s", bad[0])
	}
	c, err := l.Get(ctx, id)
	if err != nil {
		return nil, nil, nil, err
	}
	in, err := findSubgraph(ctx, l, c, migrate.EscapePath(path))
	if err != nil {
		return nil, nil, nil, err
	}
	s := new(T)
	return in, s, p, p.Read(in.state(), s)
}

// A subgraphRef is where a subgraph keeps its state.
type subgraphRef struct {
	at   *posthouse.Checkpoint
	path string // of it in the checkpoint's thread; "": it is that thread's graph
	past bool   // what comes of the call is not in at's thread, or behind at
}

// state returns the seat's checkpoint as the subgraph sees it.
func (s *subgraphRef) state() *posthouse.Checkpoint {
	if s.path == "" {
		return s.at
	}
	return subparts.Within(s.at, s.path)
}

// findSubgraph looks a subgraph up.
func findSubgraph(ctx context.Context, l *ledger.Ledger, c *posthouse.Checkpoint, path string) (*subgraphRef, error) {
	if _, stands := c.Program[subparts.PlanName(path)]; stands || len(subparts.Within(c, path).State) > 0 {
		return &subgraphRef{at: c, path: path}, nil
	}
	for i := 1; i <= len(path); i++ {
		if i < len(path) && path[i] != '/' {
			continue
		}
		in, err := findSubgraphThread(ctx, l, c, path[:i])
		if err != nil {
			return nil, err
		}
		if in == nil {
			continue
		}
		if i < len(path) {
			past := in.past
			if in, err = findSubgraph(ctx, l, in.at, path[i+1:]); err != nil {
				return nil, err
			}
			in.past = in.past || past
		}
		return in, nil
	}
	return nil, &posthouse.Error{
		Code: posthouse.CodeNotFound, Message: "checkpoint " + string(c.ID) + " has no state of a subgraph " + path,
		Hint: "the Node of checkpoints of kind inner says which there are",
	}
}

// findSubgraphThread looks up a subgraph that has a thread of its own, nil if there is
// none at the path.
func findSubgraphThread(ctx context.Context, l *ledger.Ledger, c *posthouse.Checkpoint, path string) (*subgraphRef, error) {
	info, err := l.Thread(ctx, c.Thread)
	if err != nil && !errors.Is(err, posthouse.ErrNotFound) { // it was released
		return nil, err
	}
	latest := info != nil && onHead(info, c, "")
	child, err := calls.RecordedChild(ctx, l, c, path, latest)
	if err == nil && child.Thread == "" {
		child, err = calls.KeptChild(c.Program, path)
	}
	if err != nil {
		return nil, err
	}
	mine := false
	if child.Thread != "" {
		call, err := calls.LabelsOf(ctx, l, child.Thread)
		if err != nil {
			return nil, err
		}
		mine = calls.IsCallOf(call, &c.Header)
	}
	if latest && !mine { // it has not come to say so, or it is a fork that has not
		own, err := calls.RunningChild(ctx, l, c, path)
		if err != nil {
			return nil, err
		}
		if own.Thread != "" {
			child, mine = own, true
		}
	}
	switch {
	case child.Thread == "":
		return nil, nil
	case !latest || !mine:
		at, err := l.Get(ctx, child.Checkpoint)
		return &subgraphRef{at: at, past: true}, err
	}
	at, err := l.Latest(ctx, ledger.LatestQuery{Thread: child.Thread})
	return &subgraphRef{at: at}, err
}
