package graph

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/frontier"
	"github.com/posthouse/posthouse/graph/internal/recorded"
	"github.com/posthouse/posthouse/graph/internal/state"
	"github.com/posthouse/posthouse/graph/internal/subparts"
	"github.com/posthouse/posthouse/ledger"
)

// A recorder puts what a run did on record. It keeps what steps without a checkpoint
// changed until the next checkpoint.
type recorder struct {
	run    *run
	plan   []byte           // the plan part on record; may be nil
	step   uint64           // of the head, once all is written
	change posthouse.Change // the checkpoint that is made, or was made last
	draft  ledger.Draft     // of a step, in memory that the next step uses again

	uncommitted, uncommittedProgram []posthouse.Part // what completed steps changed since the last checkpoint
	hasUncommitted                  bool             // there were such steps
	lostSteps                       int              // how many such steps a lost run took

	tale recorded.Tale // of the next checkpoint
}

// newChange begins the next checkpoint, which goes on with the frontier.
func (rec *recorder) newChange(kind string, status posthouse.Status, node string) *posthouse.Change {
	r := rec.run
	rec.change = posthouse.Change{
		Kind: kind, Status: status, Graph: r.app.name, Fingerprint: r.app.fingerprint, Node: node, Next: r.app.NextNames(r.frontier),
	}
	rec.change.Story = rec.tale.Story(r.app.ledger.Now())
	return &rec.change
}

// commit commits rec.change and the plan with what else a draft can hold. It reports the
// checkpoint.
func (rec *recorder) commit(ctx context.Context, d *ledger.Draft) (done *posthouse.Committed, err error) {
	r := rec.run
	var began time.Time
	if r.report.Hub != nil {
		began = r.app.ledger.Now()
	}
	if r.subrun == nil {
		done, err = rec.commitRoot(ctx, d)
	} else {
		done, err = rec.commitInner(ctx, d)
	}
	if err == nil && done != nil && done.Checkpoint != nil {
		r.report.Checkpoint(rec.change.Node, began)
	}
	return done, err
}

// commitRoot commits a step of the graph that was run.
func (rec *recorder) commitRoot(ctx context.Context, d *ledger.Draft) (*posthouse.Committed, error) {
	r := rec.run
	enc, err := rec.addUncommitted()
	if err != nil {
		return nil, err
	}
	d.Checkpoint = &rec.change
	done, err := r.sess.Commit(ctx, d)
	if err == nil {
		rec.markCommitted(enc)
		rec.step = r.sess.Head().Step
	}
	return done, err
}

// commitInner commits a step of a subgraph. The checkpoint is of the whole, in the middle
// of a step of the graph around. The last step of a call is committed with the node
// around it.
func (rec *recorder) commitInner(ctx context.Context, d *ledger.Draft) (*posthouse.Committed, error) {
	r := rec.run
	n, c := r.subrun, &rec.change
	parts := state.JoinParts(slices.Clone(rec.uncommittedProgram), c.Program)
	for _, p := range state.JoinParts(slices.Clone(rec.uncommitted), c.Parts) {
		p.Name = subparts.StateName(n.path) + p.Name
		parts = append(parts, p)
	}
	r.interrupted = c.Status == posthouse.StatusInterrupted
	if n.unkept || len(r.frontier.Tasks) == 0 {
		rec.uncommitted, rec.uncommittedProgram, n.parts = state.JoinParts(rec.uncommitted, c.Parts), state.JoinParts(rec.uncommittedProgram, c.Program), parts
		if len(d.Steps) == 0 {
			return nil, nil
		}
		return r.sess.Commit(ctx, &ledger.Draft{Steps: d.Steps})
	}
	change, plan, err := r.frontier.Change(subparts.PlanName(n.path), rec.plan)
	if err != nil {
		return nil, err
	}
	parts = append(parts, change...)
	where := n.path
	if c.Node != "" {
		where += "/" + c.Node
	}
	done, err := r.sess.Commit(ctx, &ledger.Draft{Steps: d.Steps, KeepOpen: true, AfterCancel: d.AfterCancel, Checkpoint: &posthouse.Change{
		Kind: posthouse.KindInner, Status: posthouse.StatusRunning, Graph: r.rootState.graph, Fingerprint: r.rootState.fingerprint,
		Node: subparts.Shorten(where), Labels: c.Labels, Next: r.sess.Head().Next, Program: parts, Story: c.Story,
	}})
	if err == nil {
		rec.tale = recorded.Tale{}
		rec.plan, rec.uncommitted, rec.uncommittedProgram, rec.hasUncommitted = plan, nil, nil, false
		r.NoteParts(parts)
	}
	return done, err
}

// addUncommitted adds what steps without a checkpoint changed to the change, and the
// plan. It returns the plan as it will be on record.
func (rec *recorder) addUncommitted() ([]byte, error) {
	r := rec.run
	change, plan, err := r.frontier.Change(frontier.PlanPart, rec.plan)
	if err != nil {
		return nil, err
	}
	c := &rec.change
	if len(rec.uncommitted) > 0 {
		c.Parts = state.JoinParts(slices.Clone(rec.uncommitted), c.Parts) // a clone, since the commit may fail
	}
	if len(rec.uncommittedProgram) > 0 {
		c.Program = state.JoinParts(slices.Clone(rec.uncommittedProgram), c.Program)
	}
	c.Program = append(c.Program, change...)
	r.interrupted = c.Status == posthouse.StatusInterrupted
	return plan, nil
}

// markCommitted notes that rec.change is, or will be, on record.
func (rec *recorder) markCommitted(plan []byte) {
	r := rec.run
	rec.plan, rec.uncommitted, rec.uncommittedProgram, rec.hasUncommitted = plan, nil, nil, false
	rec.tale = recorded.Tale{}
	r.NoteParts(rec.change.Program)
}

// commitLater is commit in the background, with results of steps.
func (rec *recorder) commitLater(ctx context.Context, steps []posthouse.Step) error {
	r := rec.run
	enc, err := rec.addUncommitted()
	if err != nil {
		return err
	}
	if err := r.sess.CommitLater(ctx, ledger.Draft{Checkpoint: &rec.change, Steps: steps}); err != nil {
		return err
	}
	rec.markCommitted(enc)
	rec.step += 1 + uint64(rec.change.Skipped)
	return nil
}

// keepForNext keeps what a step changed for the next checkpoint. It commits recorded
// steps alone.
func (rec *recorder) keepForNext(ctx context.Context, parts, program []posthouse.Part, steps []posthouse.Step) error {
	r := rec.run
	rec.uncommitted = state.JoinParts(rec.uncommitted, parts)
	rec.uncommittedProgram = state.JoinParts(rec.uncommittedProgram, program)
	r.frontier.Skipped++
	rec.hasUncommitted = true
	if len(steps) == 0 {
		return nil
	}
	_, err := r.sess.Commit(ctx, &ledger.Draft{Steps: steps})
	return err
}

// flush commits what the run did since its last checkpoint, and waits for commits in
// the background.
func (rec *recorder) flush(ctx context.Context) error {
	r := rec.run
	if !rec.hasUncommitted || r.subrun != nil && r.subrun.unkept {
		return r.sess.Flush()
	}
	stop := r.interrupted
	defer func() { r.interrupted = stop }()
	for late := r.sess.Cancellation().Asked(); ; late = true {
		rec.newChange(posthouse.KindEvent, posthouse.StatusRunning, "") // in the middle of a step, so that executions keep their keys
		_, err := rec.commit(ctx, &ledger.Draft{KeepOpen: true, AfterCancel: late})
		if late || !errors.Is(err, posthouse.ErrCancelled) {
			return err
		}
	}
}

// A Durability says when a run's checkpoints become durable. In every mode a run that
// is cancelled ([ledger.Ledger.Cancel]) puts on record what completed before, steps
// (step.Do) are on record before they return, and questions before the run returns.
type Durability uint8

// The modes, and what a crash loses.
const (
	// Sync makes each checkpoint durable before the next node runs. A crash loses the
	// node that was running.
	Sync Durability = iota

	// Async writes checkpoints in the background, in order, at most MaxBehind of them. A
	// step, a park and the end wait for them. A crash loses those nodes, too; they run
	// again. In a stream and in subgraphs it is Sync.
	Async

	// Exit makes one checkpoint when the run parks, fails or ends, and where it enters a
	// subgraph that is kept. A crash loses the run except its steps: its nodes run again.
	Exit
)

// MaxBehind is the most checkpoints that an Async run is ahead of its store.
const MaxBehind = 64

// Snapshots say which nodes make checkpoints. A run that parks, fails, is cancelled or
// ends makes one in any case, with all that nodes did since the last.
type Snapshots uint8

// The policies of a graph and of a node.
const (
	SnapshotDefault Snapshots = iota // of a graph: SnapshotAfter; of a node: the graph's
	SnapshotAfter                    // after the node
	SnapshotBefore                   // before it
	SnapshotBoth                     // before and after it
	SnapshotNone                     // of a graph: only nodes with Snapshots of their own
)

func (s Snapshots) after() bool  { return s == SnapshotAfter || s == SnapshotBoth }
func (s Snapshots) before() bool { return s == SnapshotBefore || s == SnapshotBoth }

// stepsLeftBehind returns how many steps without checkpoints an unfinished run took after
// the head. Counting them keeps the names of its executions from being used again.
func (r *run) stepsLeftBehind(ctx context.Context) (int, error) {
	h := r.sess.Head()
	if h == nil || posthouse.IsOver(h.Status) {
		return 0, nil
	}
	ahead, err := r.sess.Record().StepsAhead(ctx)
	return max(r.frontier.Skipped, ahead), err
}

// reload restores the live state from before the step, after an attempt changed it.
func (r *run) reload(ctx context.Context) (err error) {
	if r.subrun != nil {
		return r.reloadInner(ctx)
	}
	if err := r.sess.Flush(); err != nil {
		return err
	}
	c, err := r.readHead(ctx)
	if err != nil {
		return err
	}
	if err := state.ApplyParts(c.State, r.record.uncommitted); err != nil {
		return err
	}
	r.live, err = state.Decode(r.app.Schema, c)
	return err
}
