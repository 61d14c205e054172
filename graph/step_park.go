package graph

import (
	"cmp"
	"context"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/ledger"
)

// parkWaiting commits the questions of the tasks that wait, with the state from before
// the step.
func (s *step) parkWaiting(ctx context.Context) (*result, error) {
	r := s.run
	var waiting, asked []posthouse.Gate
	var names []*outcome
	var open []*posthouse.Gate
	var stale []posthouse.ID
	var changed error
	note, opened := "", false
	for _, o := range s.ended() {
		if o.kind != taskWaits {
			continue
		}
		gates := o.exec.Gates()
		names, open = append(names, o), append(open, o.open...)
		note, opened = cmp.Or(note, o.note), opened || gates.Opened()
		if err := gates.Changed(); err != nil {
			changed = err
		}
		asked, stale = append(asked, gates.New()...), append(stale, gates.Stale()...)
		for _, g := range append(gates.Open(), o.open...) {
			waiting = append(waiting, *g)
		}
	}
	if r.subrun != nil {
		return nil, s.leaveSubgraph(ctx, taskWaits, open, note)
	}
	if changed != nil {
		held, _ := s.unfinished()
		return nil, r.commitFailure(ctx, joinNodes(names), held, changed)
	}
	anew := opened || len(asked)+len(stale) > 0 || r.sess.Head().Status != posthouse.StatusWaiting // it may have failed, or gone on in a subgraph
	if !anew && r.sess.TimerSoon(waiting).IsZero() {
		parked, err := r.sess.Parked(ctx)
		if err != nil {
			return nil, err
		}
		anew = !parked // one of several questions was answered: the others wait on
	}
	if !anew && r.sess.TimerSoon(waiting).IsZero() {
		return r.parkedWith(ctx, waiting, note)
	}
	if err := r.live.Verify(); err != nil {
		return nil, r.commitFailure(ctx, joinNodes(names), nil, err)
	}
	if anew {
		held, keep := s.unfinished()
		r.record.newChange(posthouse.KindWait, posthouse.StatusWaiting, joinNodes(names))
		done, err := r.record.commit(ctx, &ledger.Draft{Gates: asked, Keep: keep, KeepOpen: s.mayHaveMoreGates(), Withdraw: stale, Steps: held})
		if err != nil {
			if r.sess.Err() != nil {
				return nil, err
			}
			return nil, r.commitFailure(ctx, joinNodes(names), held, err)
		}
		if done.Checkpoint.Status == posthouse.StatusReady {
			return nil, r.repeatStep(ctx) // the answer was there already
		}
		if ended, err := r.childEnded(ctx, done.Gates); err != nil {
			return nil, err
		} else if ended {
			return nil, r.repeatStep(ctx)
		}
		waiting = append(waiting, done.Gates...)
	}
	if due := r.sess.TimerSoon(waiting); !due.IsZero() {
		if come, err := engine.WaitOrDrain(ctx, r.app.ledger, due); err != nil {
			return nil, err
		} else if come {
			return nil, r.repeatStep(ctx)
		}
	}
	return r.parkedWith(ctx, waiting, note)
}

// mayHaveMoreGates reports whether the step may have questions open that its outcomes do
// not name. Tasks in it, or in a subgraph, may not have run to ask them again.
func (s *step) mayHaveMoreGates() bool {
	r := s.run
	return len(s.ended()) < len(r.frontier.Tasks) || slices.ContainsFunc(s.ended(), func(o *outcome) bool {
		return o.kind != taskDone && o.kind != taskWaits || o.task.node.sub != nil
	})
}

// parkInterrupted stops a run at a static interrupt inside a subgraph.
func (s *step) parkInterrupted(ctx context.Context) (*result, error) {
	r := s.run
	if r.subrun != nil {
		return nil, s.leaveSubgraph(ctx, taskHalts, nil, "")
	}
	held, _ := s.unfinished()
	r.record.newChange(posthouse.KindWait, posthouse.StatusInterrupted, joinNodes(s.ended()))
	if _, err := r.record.commit(ctx, &ledger.Draft{Steps: held, KeepOpen: true}); err != nil {
		return nil, err
	}
	return r.parkedResult(ctx, nil)
}

// leaveSubgraph commits what a subgraph did, and returns its end.
func (s *step) leaveSubgraph(ctx context.Context, kind outcomeKind, open []*posthouse.Gate, note string) error {
	if err := s.run.record.flush(ctx); err != nil {
		return err
	}
	return &subgraphEnd{kind: kind, open: open, note: note}
}

// unfinished returns the steps that unfinished tasks hold, and their open gates.
func (s *step) unfinished() (held []posthouse.Step, keep []posthouse.ID) {
	r := s.run
	if r.subrun != nil {
		return nil, nil // the node around it adopted them
	}
	for _, o := range s.ended() {
		if o.exec == nil || o.kind == taskDone {
			continue
		}
		held = append(held, o.exec.Records().Held()...)
		for _, g := range append(o.exec.Gates().Open(), o.open...) {
			keep = append(keep, g.ID)
		}
	}
	return held, keep
}

// childEnded ends the waits for threads that have ended before the wait was on record: who ended
// them found nothing to wake. It reports whether there was one.
func (r *run) childEnded(ctx context.Context, opened []posthouse.Gate) (ended bool, err error) {
	for i := range opened {
		g := &opened[i]
		if g.Kind != posthouse.GateThread || g.Decision != nil {
			continue
		}
		over, err := commit.WakeIfEnded(ctx, r.app.ledger.Core(), g)
		if err != nil {
			return false, r.sess.Unanswered(err)
		}
		ended = ended || over
	}
	return ended, nil
}
