package graph

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/frontier"
	"github.com/posthouse/posthouse/graph/internal/recorded"
	"github.com/posthouse/posthouse/graph/internal/report"
	"github.com/posthouse/posthouse/graph/internal/state"
	"github.com/posthouse/posthouse/graph/internal/topology"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/engine/front"
	"github.com/posthouse/posthouse/internal/engine/session"
	"github.com/posthouse/posthouse/internal/engine/stream"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runs"
)

// RunOptions refine one Run, Resume, Stream or Replay. The zero value is useful.
type RunOptions struct {
	Branch string // default main; for Replay the new branch, default fork-1, fork-2, ...

	// Run is the run's id, a label on what it writes. Default a new one. Run and Start
	// with an id of your own happen once on a thread; with another input it is
	// [posthouse.ErrExists].
	Run string

	RecursionLimit int          // steps that this call may take; default CompileOptions.RecursionLimit
	By             string       // who sent the input; the run acts on their behalf, also when it is resumed
	Durability     Durability   // when its checkpoints become durable; default Sync
	Coordination   string       // a label that groups threads, set with an input and kept; default the thread's own id
	Release        *AutoRelease // when the run releases the thread; default CompileOptions.Release
	StartAt        time.Time    // when an input's run starts: until then it waits on record; default now. See [runs.CheckStartAt]
	OnBusy         runs.OnBusy  // what to do when another run has the thread; default Reject

	// Wait is how long the call waits for a thread that another run has: with Reject before it fails
	// with [posthouse.ErrBusy], else at most, 0 being without end. A process that was just started
	// takes over from one that is gone if it waits as long as Error.Wait of that error says, a
	// little more than the lease. Default: not at all.
	Wait time.Duration

	// Withdraw says that the input may withdraw what people are asked on the branch, and what they
	// decided that has not been acted on. Without it such an input is refused:
	// [posthouse.ErrConflict], with Error.Gates.
	Withdraw bool

	// Labels of the input's checkpoint, to find and to keep it by. At most 16; keys and
	// values at most 200 bytes.
	Labels map[string]string

	// Stop before, or after, these nodes in this call, in addition to the graph's own
	// interrupts; "*" is all. They apply to the graph that is run, not to its subgraphs.
	// They are not on record: a run that was lost goes on without them.
	InterruptBefore, InterruptAfter []string

	Modes []runs.StreamMode // what a stream yields; default StreamValues

	// Subgraphs adds what happens inside subgraphs to a stream. Otherwise what they emit
	// counts as emitted by the node that calls them.
	Subgraphs bool

	labels  map[string]string     // of the thread of a subgraph, in place of Labels
	asked   []posthouse.Requester // of the graph that calls a subgraph in a thread of its own
	path    string                // of a subgraph in a thread of its own, in the graph of the stream
	bounded bool                  // of a subgraph: a node around it has a time limit
}

// A run is one call over one branch. It takes steps until the branch parks or ends.
type run struct {
	app *core
	*rootState
	subrun      *subrun // of a subgraph; nil for the graph that was run
	sess        *session.Session
	opt         RunOptions
	breakpoints breakpoints // of this call
	budget      budget
	live        *state.Live
	frontier    *frontier.Frontier
	program     posthouse.State // of the head that was loaded
	record      recorder
	report      report.Reporter
	hold        *session.Hold      // of the tasks that are alone in their steps
	interrupted bool               // a static interrupt was committed
	version     *posthouse.Release // that the run made of the thread
}

// newRun returns a run of a graph. limit is how many steps it may take.
func newRun(a *core, root *rootState, s *session.Session, o RunOptions, limit int, h *stream.Hub) *run {
	r := &run{
		app: a, rootState: root, sess: s, opt: o, frontier: &frontier.Frontier{},
		budget: budget{limit: limit, lastRan: make([]int, len(a.order))},
	}
	r.record.run = r
	r.report = report.Reporter{Hub: h, Session: s, Ledger: a.ledger, Path: o.path}
	return r
}

// checkCall checks the options of a call, and returns what the engine needs of them.
func (a *core) checkCall(o *RunOptions, input bool) (c front.Invocation, err error) {
	c = front.Invocation{Branch: o.Branch, Run: o.Run, By: o.By, OnBusy: o.OnBusy, Wait: o.Wait, Modes: o.Modes, Withdraw: o.Withdraw, StartAt: o.StartAt}
	switch {
	case o.RecursionLimit < 0:
		return c, posthouse.Invalid("RecursionLimit", "is negative")
	case o.Durability > Exit:
		return c, posthouse.Invalid("Durability", "%d is unknown", o.Durability)
	case len(o.Labels) > 0 && !input:
		return c, posthouse.Invalid("Labels", "are of an input's checkpoint, and none is made")
	}
	err = checkLabels(o.Labels)
	if err == nil {
		_, err = a.breakpointsOf(o)
	}
	return c, err
}

// newCall returns the run of a session; h is nil without a stream.
func (a *core) newCall(s *session.Session, o *RunOptions, h *stream.Hub) front.Run[input, result] {
	r := newRun(a, &rootState{graph: a.name, fingerprint: a.fingerprint}, s, *o, cmp.Or(o.RecursionLimit, a.limit), h)
	r.breakpoints, _ = a.breakpointsOf(o) // they were checked
	if h := s.Head(); h != nil {
		r.record.step = h.Step
	}
	return r
}

// readHead reads the checkpoint at the head.
func (r *run) readHead(ctx context.Context) (*posthouse.Checkpoint, error) {
	c, err := ledger.GetOf(ctx, r.app.ledger, r.sess.Head())
	return c, r.sess.Unanswered(err)
}

// load reads the state and the frontier of the head.
func (r *run) load(ctx context.Context) error {
	c, err := r.readHead(ctx)
	if err != nil {
		return err
	}
	r.program, r.record.plan = c.Program, c.Program[frontier.PlanPart].Data
	*r.frontier, err = frontier.ReadFrontier(c.Next, c.Program, frontier.PlanPart)
	if err != nil {
		return err
	}
	r.renamed, r.names = r.frontier.Renamed, r.frontier.Names
	for name, v := range c.Program {
		p := []posthouse.Part{{Name: name, Codec: v.Codec, Data: v.Data}}
		r.NoteParts(p)
		r.NoteKept(p)
	}
	c, err = r.app.current(c)
	if err != nil {
		return err
	}
	r.live, err = state.Decode(r.app.Schema, c)
	return err
}

// Start merges the input into the thread and runs from Start.
func (r *run) Start(ctx context.Context, in *input) (*result, error) {
	a := r.app
	if err := r.migrateHead(ctx, false); err != nil {
		return nil, err
	}
	if r.subrun != nil {
		r.frontier.Call = r.subrun.call
	} else if r.sess.Head() == nil {
		r.live = state.New(a.Schema)
	} else if err := r.load(ctx); err != nil {
		return nil, err
	}
	r.live.Input(in.state)
	var program []posthouse.Part
	skipped, epoch := 0, r.frontier.Epoch
	if r.subrun == nil {
		by, err := engine.SentBy(ctx, cmp.Or(r.opt.By, engine.Principal(ctx)), r.program)
		if err != nil {
			return nil, err
		}
		input, err := recorded.InputParts(r.app.Schema, r.opt.Run, in.state, r.program)
		if err != nil {
			return nil, err
		}
		program = slices.Concat(r.Orphans(), by, input)
		skipped, err = r.stepsLeftBehind(ctx)
		if err != nil {
			return nil, err
		}
		if r.sess.Lease().PreviousRunLost() {
			epoch = r.record.step + 1 + uint64(skipped)
		}
	}
	next, err := a.follow(Start, r.live.Value)
	if err != nil {
		return nil, err
	}
	if err := a.AdvanceFrontier(&frontier.Frontier{Call: r.frontier.Call, Epoch: epoch}, r.frontier, []topology.Completion{{Next: next}}); err != nil {
		return nil, err
	}
	if r.subrun == nil {
		r.renamed, r.names = nil, nil
	}
	parts, err := r.live.Delta()
	if err != nil {
		return nil, err
	}
	if err := r.live.Detach(); err != nil {
		return nil, err
	}
	c := r.record.newChange(posthouse.KindInput, r.statusBehind(nil), "")
	c.Requesters = r.opt.asked
	c.Skipped, c.By, c.Coordination, c.Labels, c.Parts, c.Program = skipped, r.opt.By, r.opt.Coordination, r.opt.labels, parts, program
	if c.Labels == nil {
		c.Labels = r.opt.Labels
	}
	r.record.draft = ledger.Draft{}
	if _, err := r.record.commit(ctx, &r.record.draft); err != nil {
		return nil, err
	}
	if err := r.report.Values(runs.EventInput, r.record.change.Node, r.live); err != nil {
		return nil, err
	}
	if r.opt.By != "" {
		ctx = engine.WithPrincipal(ctx, r.opt.By)
	}
	return r.loop(ctx)
}

// Resume goes on from the head.
func (r *run) Resume(ctx context.Context) (*result, error) {
	h := r.sess.Head()
	if h == nil {
		return nil, engine.UnknownThread(r.sess.Thread(), r.sess.Branch())
	}
	ended := posthouse.IsOver(h.Status)
	if !ended {
		if err := r.migrateHead(ctx, true); err != nil {
			return nil, err
		}
		h = r.sess.Head()
	}
	if h.Status == posthouse.StatusWaiting {
		waiting, err := r.sess.Undecided(ctx)
		if err != nil {
			return nil, err
		}
		if len(waiting) > 0 {
			return r.parkedResult(ctx, waiting)
		}
	}
	if err := r.load(ctx); err != nil {
		return nil, err
	}
	if !ended {
		if err := r.routeFork(ctx); err != nil {
			return nil, err
		}
		ended = len(r.frontier.Tasks) == 0 && posthouse.IsOver(r.sess.Head().Status)
	}
	if len(r.frontier.Tasks) == 0 && !ended {
		return nil, noNext(h.ID)
	}
	var err error
	r.record.lostSteps, err = r.sess.Record().StepsAhead(ctx)
	if err != nil {
		return nil, err
	}
	ctx, err = engine.OnBehalf(ctx, r.opt.By, r.program)
	if err != nil {
		return nil, err
	}
	return r.loop(ctx)
}

func (r *run) loop(ctx context.Context) (*result, error) {
	if err := r.followInterrupted(ctx); err != nil {
		return nil, err
	}
	defer func() { r.hold.Free() }()
	drain := engine.DrainOf(ctx)
	s := &step{run: r} // reused, to save steps without checkpoints the allocations
	for {
		h := r.sess.Head()
		switch {
		case len(r.frontier.Tasks) == 0 || h.Status == posthouse.StatusCancelled:
			if err := r.releaseDone(ctx); err != nil {
				return nil, err
			}
			return r.result(runs.EventEnd, r.live.Value, nil), nil
		case r.interrupted, engine.Closed(drain):
			return r.park(ctx)
		}
		if ctx.Err() != nil {
			return nil, errors.Join(context.Cause(ctx), r.record.flush(ctx))
		}
		res, err := s.advance(ctx)
		if res != nil || err != nil {
			return res, err
		}
	}
}
