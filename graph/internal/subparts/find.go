package subparts

import (
	"context"
	"errors"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/calls"
	"github.com/posthouse/posthouse/graph/internal/child"
	"github.com/posthouse/posthouse/ledger"
)

// A Ref is where a subgraph keeps its state.
type Ref struct {
	At   *posthouse.Checkpoint
	Path string // of it in the checkpoint's thread; "": it is that thread's graph
	Past bool   // what comes of the call is in another thread than At's, or after At
}

// State returns the checkpoint as the subgraph sees it.
func (s *Ref) State() *posthouse.Checkpoint {
	if s.Path == "" {
		return s.At
	}
	return Within(s.At, s.Path)
}

// Find looks up the subgraph at a path, through threads of their own.
func Find(ctx context.Context, l *ledger.Ledger, c *posthouse.Checkpoint, path string) (*Ref, error) {
	if _, stands := c.Program[PlanName(path)]; stands || len(Within(c, path).State) > 0 {
		return &Ref{At: c, Path: path}, nil
	}
	for i := 1; i <= len(path); i++ {
		if i < len(path) && path[i] != '/' {
			continue
		}
		in, err := findThread(ctx, l, c, path[:i])
		if err != nil {
			return nil, err
		}
		if in == nil {
			continue
		}
		if i < len(path) {
			past := in.Past
			in, err = Find(ctx, l, in.At, path[i+1:])
			if err != nil {
				return nil, err
			}
			in.Past = in.Past || past
		}
		return in, nil
	}
	return nil, &posthouse.Error{
		Code: posthouse.CodeNotFound, Message: "checkpoint " + string(c.ID) + " has no state of a subgraph " + path,
		Hint: "the Node of checkpoints of kind inner says which there are",
	}
}

// findThread looks up a subgraph that has a thread of its own, or returns nil.
func findThread(ctx context.Context, l *ledger.Ledger, c *posthouse.Checkpoint, path string) (*Ref, error) {
	info, err := l.Thread(ctx, c.Thread)
	if err != nil && !errors.Is(err, posthouse.ErrNotFound) { // it was released
		return nil, err
	}
	latest := info != nil && child.OnHead(info, c, "")
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
	if latest && !mine { // the caller was lost before it recorded the call, or is a fork that has not called yet
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
		return &Ref{At: at, Past: true}, err
	}
	at, err := l.Latest(ctx, ledger.LatestQuery{Thread: child.Thread})
	return &Ref{At: at}, err
}
