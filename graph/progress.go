package graph

import (
	"context"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/progress"
	"github.com/posthouse/posthouse/internal/engine/front"
)

// ProgressOptions name the thread of [App.Progress]. Thread or Checkpoint is required.
type ProgressOptions struct {
	Thread     string       // default the thread of Checkpoint
	Branch     string       // default main
	Checkpoint posthouse.ID // read the progress as of this checkpoint; default the branch's head
}

// Progress is how far a thread is in its graph, as marks by the paths of nodes. A path
// consists of escaped names ([posthouse.EscapeName]) joined by slashes, as in
// "research/write". A node without a mark has not run since the newest input.
type Progress map[string]Mark

// A Mark says how far a thread is at a node.
type Mark string

// The marks. Done counts from the thread's newest input.
const (
	MarkNone    Mark = ""
	MarkDone    Mark = "done"
	MarkNext    Mark = "next"
	MarkWaiting Mark = "waiting"
	MarkFailed  Mark = "failed"
)

// Progress returns how far a thread is in the graph. It includes nodes of subgraphs,
// and tasks of an unfinished step that completed. [posthouse.ErrNotFound] for an
// unknown thread or checkpoint, [posthouse.ErrInvalid] for those of another program.
func (a *App[S]) Progress(ctx context.Context, o ProgressOptions) (Progress, error) {
	return a.core.progressOf(ctx, &o)
}

func (a *core) progressOf(ctx context.Context, o *ProgressOptions) (Progress, error) {
	var c *posthouse.Checkpoint
	var err error
	if o.Checkpoint != "" && o.Thread == "" {
		c, err = a.ledger.Get(ctx, o.Checkpoint)
	} else {
		c, err = front.StateOf(ctx, a.ledger, o.Thread, front.StateOptions{Branch: o.Branch, Checkpoint: o.Checkpoint})
	}
	if err == nil {
		err = a.front.Owns(&c.Header)
	}
	if err != nil {
		return nil, err
	}
	marks, err := progress.Of(ctx, a.ledger, c, a.migrationsFrom(c.Fingerprint))
	if err != nil {
		return nil, err
	}
	p := make(Progress, len(marks))
	for path, m := range marks {
		p[path] = Mark(m)
	}
	return p, nil
}
