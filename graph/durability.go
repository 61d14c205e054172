package graph

import (
	"context"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/state"
	"github.com/posthouse/posthouse/internal/engine"
)

// A Durability says when a run's checkpoints become durable. A run that is
// cancelled ([ledger.Ledger.Cancel]) puts what completed before on record, in
// every mode. Steps (step.Do) are on record before they return in every mode,
// and questions before the run returns.
type Durability uint8

// The modes, and what a crash loses.
const (
	Sync  Durability = iota // each checkpoint is durable before the next node runs. A crash loses the node that was running
	Async                   // checkpoints are written behind the run, in order, at most MaxBehind of them; a step, a park and the end wait for them. A crash loses those nodes, too; they run again. As Sync in a stream and in subgraphs
	Exit                    // one checkpoint when the run parks, fails or ends, and where it enters a subgraph that is kept. A crash loses the run, but for its steps: its nodes run again
)

// MaxBehind is how many checkpoints an Async run is ahead of its store at most.
const MaxBehind = engine.MaxBehind

// Snapshots say which nodes make checkpoints. A run that parks, fails, is
// cancelled or ends makes one in any case, with all that nodes did since the
// last.
type Snapshots uint8

// The policies of a graph and of a node.
const (
	SnapshotDefault Snapshots = iota // of a graph: SnapshotAfter; of a node: the graph's
	SnapshotAfter                    // behind the node
	SnapshotBefore                   // before it
	SnapshotBoth                     // before and behind it
	SnapshotNone                     // of a graph: only nodes that say so themselves
)

func (s Snapshots) after() bool  { return s == SnapshotAfter || s == SnapshotBoth }
func (s Snapshots) before() bool { return s == SnapshotBefore || s == SnapshotBoth }

// stepsLeftBehind returns how many steps without checkpoints a run that did not end took
// behind the head, so that no execution of another gets the name of one of its.
func (r *run[S]) stepsLeftBehind(ctx context.Context) (int, error) {
	h := r.sess.Head()
	if h == nil || h.Status == posthouse.StatusDone || h.Status == posthouse.StatusCancelled {
		return 0, nil
	}
	ahead, err := r.sess.StepsAhead(ctx)
	return max(r.frontier.Skipped, ahead), err
}

// reload makes the live state what it was before the step, once an attempt has
// spoilt it.
func (r *run[S]) reload(ctx context.Context) (err error) {
	if r.subrun != nil {
		return r.reloadInner(ctx)
	}
	if err := r.sess.Flush(); err != nil {
		return err
	}
	c, err := r.app.ledger.Get(ctx, r.sess.Head().ID)
	if err != nil {
		return err
	}
	if err := state.ApplyParts(c.State, r.record.uncommitted); err != nil {
		return err
	}
	r.live, err = state.Decode[S](r.app.schema, c)
	return err
}
