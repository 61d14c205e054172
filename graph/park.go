package graph

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/frontier"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/ledger"
)

// waitsForTimerSoon reports whether the run waits for nothing but timers, one of which is
// over soon: then it does so itself.
func (o *settings) waitsForTimerSoon(now time.Time, waiting []posthouse.Gate) bool {
	soon := false
	for i := range waiting {
		g := &waiting[i]
		if g.Kind != posthouse.GateTimer {
			return false
		}
		soon = soon || g.ExpiresAt.Sub(now) <= o.hold
	}
	return soon && o.hold > 0
}

// repeatStep takes the step again, with what was decided since.
func (r *run[S]) repeatStep(ctx context.Context) error {
	r.sess.Refresh()
	r.budget.steps-- // the step is the same
	return r.load(ctx)
}

// parkedResult ends a run whose head waits: the state is what the head holds.
func (r *run[S]) parkedResult(ctx context.Context, waiting []posthouse.Gate) (*Result[S], error) {
	c, err := r.app.ledger.Get(ctx, r.sess.Head().ID)
	if err != nil {
		return nil, err
	}
	s, err := r.app.snapshot(c)
	if err != nil {
		return nil, err
	}
	res := r.report.result(EventPark, s.State, waiting)
	return res, nil
}

// stillUndecided returns the result of resuming a branch of whose gates none was
// decided or ran out: its node would only ask again.
func (r *run[S]) stillUndecided(ctx context.Context) (*Result[S], error) {
	l := r.app.ledger
	info, err := l.Thread(ctx, r.sess.Thread())
	if err != nil {
		return nil, err
	}
	if b, _ := info.Branch(r.sess.Branch()); b.Status != posthouse.StatusWaiting {
		return nil, nil
	}
	var waiting []posthouse.Gate
	for g, err := range l.Gates(ctx, ledger.GateQuery{Thread: r.sess.Thread(), All: true}) {
		switch {
		case err != nil:
			return nil, err
		case g.Branch != r.sess.Branch():
		case g.Kind == posthouse.GateThread:
			return nil, nil // that thread may have gone on
		case !g.ExpiresAt.IsZero() && !l.Now().Before(g.ExpiresAt):
			return nil, nil
		default:
			waiting = append(waiting, *g)
		}
	}
	if len(waiting) == 0 || r.app.waitsForTimerSoon(l.Now(), waiting) {
		return nil, nil
	}
	return r.parkedResult(ctx, waiting)
}

// commitFailure commits a failed checkpoint with the state from before the step and
// returns the failure. The questions of the step's tasks stay open: they may not
// have been run to ask them again.
func (r *run[S]) commitFailure(ctx context.Context, node string, held []posthouse.Step, cause error) error {
	e := &NodeError{
		Graph: r.app.name, Thread: r.sess.Thread(), Branch: r.sess.Branch(), Node: frontier.UnescapeName(node), Err: cause,
	}
	if r.subrun != nil { // the node around it fails, and says so on record
		if err := r.record.flush(ctx); err != nil {
			return errors.Join(e, err)
		}
		return e
	}
	status := posthouse.StatusFailed
	if _, ok := errors.AsType[*engine.ChangedError](cause); ok {
		status = posthouse.StatusInterrupted // an answer cannot help it; a person has to look
	}
	r.record.newChange(posthouse.KindFail, status, node).Error = oneLine(cause.Error())
	if _, err := r.record.commitDraft(ctx, &ledger.Draft{Steps: held, KeepOpen: true}); err != nil {
		return errors.Join(e, err)
	}
	e.Checkpoint = r.sess.Head().ID
	return e
}

// oneLine makes an error fit for a checkpoint's header: valid text on one line.
func oneLine(s string) string {
	return strings.Join(strings.Fields(strings.ToValidUTF8(s, "?")), " ")
}

// causes returns why tasks failed: one error, or all of them with their nodes. Of
// tasks that were sent inputs it says which.
func causes[S any](failed []*outcome[S]) error {
	if len(failed) == 1 && failed[0].task.Input == nil {
		return failed[0].err
	}
	errs := make([]error, len(failed))
	for i, o := range failed {
		errs[i] = fmt.Errorf("%s: %w", o.task.title(), o.err)
	}
	return errors.Join(errs...)
}
