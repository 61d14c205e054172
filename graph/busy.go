package graph

import (
	"context"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/frontier"
	"github.com/posthouse/posthouse/graph/internal/recorded"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/engine/front"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runs"
)

// Repeated returns the result of the run with this id if the thread has it already,
// and otherwise nil. It continues a run that was lost. Another input than that run had
// is [posthouse.ErrExists].
func (r *run) Repeated(ctx context.Context, in *input) (*result, error) {
	l, thread := r.app.ledger, r.sess.Thread()
	first, err := lastOf(ctx, l, posthouse.Query{Thread: thread, Run: r.opt.Run, Kind: posthouse.KindInput})
	if first == nil || err != nil {
		return nil, err
	}
	began, err := l.Get(ctx, first.ID)
	if err != nil {
		return nil, err
	}
	if err := recorded.SameInput(r.app.Schema, began, in.state); err != nil {
		return nil, err
	}
	newest, err := lastOf(ctx, l, posthouse.Query{Thread: thread, Branch: first.Branch, Kind: posthouse.KindInput})
	if err != nil {
		return nil, err
	}
	q := posthouse.Query{Thread: thread, Branch: first.Branch}
	if newest.ID != first.ID { // another run came after it
		q.Run = r.opt.Run
	}
	last, err := lastOf(ctx, l, q)
	if err != nil {
		return nil, err
	}
	goesOn := last.Status == posthouse.StatusRunning || last.Status == posthouse.StatusWaiting
	if goesOn && last.ID == r.sess.Head().ID {
		r.opt.By = ""
		return r.Resume(engine.WithoutPrincipal(ctx))
	}
	if last.Status == posthouse.StatusFailed {
		return nil, &NodeError{
			Graph: r.app.name, Thread: last.Thread, Branch: last.Branch, Node: frontier.UnescapeName(last.Node), Checkpoint: last.ID, Err: RecordedError(last.Error),
		}
	}
	s, err := r.app.state(ctx, last.Thread, last.ID)
	if err != nil {
		return nil, err
	}
	kind := runs.EventPark
	if posthouse.IsOver(last.Status) {
		kind = runs.EventEnd
	}
	return r.resultAt(kind, last, s.State, nil), nil
}

// lastOf returns the newest checkpoint that matches, or nil.
func lastOf(ctx context.Context, l *ledger.Ledger, q posthouse.Query) (*posthouse.Header, error) {
	q.Descending, q.Limit = true, 1
	for h, err := range l.List(ctx, q) {
		return h, err
	}
	return nil, nil
}

// RollBack restores the branch to what it was before its last input.
func (r *run) RollBack(ctx context.Context) error {
	began := r.app.ledger.Now()
	h, err := front.RollBack(ctx, r.sess, &posthouse.Change{Graph: r.app.name, Fingerprint: r.app.fingerprint, By: r.opt.By})
	if h != nil {
		r.record.change.Node = h.Node
		r.report.Checkpoint(h.Node, began)
	}
	return err
}
