package graph

import (
	"context"
	"encoding/json"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/frontier"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/ledger"
)

// OnBusy says what a run does when another one has its thread. The other may
// be in this process or in another; a process that died has a thread until its
// lease is over.
type OnBusy = engine.OnBusy

// The strategies.
//
// Enqueue serves first come, first served within this process; behind a run of
// another process it looks again at least each second, and whoever looks first
// has the thread. A node must not enqueue a run of its own thread: it would wait
// for itself.
//
// Interrupt and Rollback cancel the other run as [ledger.Ledger.Cancel] does
// and wait until it has ended; a run of another process learns of it at its
// next commit. If the other ends by itself first, that stands. They are for
// calls with an input.
//
// Rollback then takes the branch back to what it was before the input of the
// cancelled run. History stays as it is: a checkpoint of kind update, whose
// Source is the earlier one, restores its state, and the new input follows it.
// What steps did to the world is not undone, and gates that the input had
// cancelled stay cancelled.
const (
	Reject    = engine.Reject    // fail with [posthouse.ErrBusy]
	Enqueue   = engine.Enqueue   // wait in line
	Interrupt = engine.Interrupt // cancel the other and go on from what it has on record
	Rollback  = engine.Rollback  // cancel the other and go on from before its input
)

// Repeated returns what the run with this id came to, if the thread has it
// already; one that was lost in the middle is continued. Nil if there is none.
// Another input than it had is [posthouse.ErrExists].
func (r *run[S]) Repeated(ctx context.Context, in *S) (*Result[S], error) {
	l, thread := r.app.ledger, r.sess.Thread()
	first, err := lastOf(ctx, l, posthouse.Query{Thread: thread, Run: r.opt.Run, Kind: posthouse.KindInput})
	if first == nil || err != nil {
		return nil, err
	}
	if err := r.app.sameInput(ctx, first, in); err != nil {
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
	s, err := r.app.State(ctx, last.Thread, StateOptions{Checkpoint: last.ID})
	if err != nil {
		return nil, err
	}
	kind := EventPark
	if last.Status == posthouse.StatusDone || last.Status == posthouse.StatusCancelled {
		kind = EventEnd
	}
	return r.report.resultAt(kind, last, s.State, nil), nil
}

// lastOf returns the newest checkpoint that matches, nil if there is none.
func lastOf(ctx context.Context, l *ledger.Ledger, q posthouse.Query) (*posthouse.Header, error) {
	q.Descending, q.Limit = true, 1
	for h, err := range l.List(ctx, q) {
		return h, err
	}
	return nil, nil
}

// RollBack restores the branch to what it was before its last input.
func (r *run[S]) RollBack(ctx context.Context) error {
	began := r.app.ledger.Now()
	h, err := r.sess.RollBack(ctx, &posthouse.Change{Graph: r.app.name, Fingerprint: r.app.fingerprint, By: r.opt.By})
	if h != nil {
		r.record.change.Node = h.Node
		r.report.checkpoint(began)
	}
	return err
}

// inputPart is the program's part that says with what input a run began whose id
// the caller gave, so that nobody takes its result for that of another input.
const inputPart = "$input"

// A sent is that part.
type sent struct {
	Run   string            `json:"run"`
	Parts map[string]string `json:"parts"` // digests, by part; a zero value has none
}

// sentParts returns what an input does to the program's parts. Runs without an id of
// their own say nothing.
func (r *run[S]) sentParts(in *S) ([]posthouse.Part, error) {
	digests, ok := r.app.schema.Digests(in)
	if r.opt.Run == "" || !ok {
		if _, stale := r.program[inputPart]; stale {
			return []posthouse.Part{{Name: inputPart, Drop: true}}, nil
		}
		return nil, nil
	}
	data, err := json.Marshal(sent{r.opt.Run, digests})
	if err != nil {
		return nil, err
	}
	return []posthouse.Part{{Name: inputPart, Codec: posthouse.JSON.Name(), Data: data}}, nil
}

// sameInput refuses an input that is not the one that the run began with at h. Where
// that is not on record, as in runs from before it was, nothing is compared; nor are
// parts that the state does not have any more.
func (a *App[S]) sameInput(ctx context.Context, h *posthouse.Header, in *S) error {
	c, err := a.ledger.Get(ctx, h.ID)
	if err != nil {
		return err
	}
	var was sent
	v, ok := c.Program[inputPart]
	if !ok || json.Unmarshal(v.Data, &was) != nil || was.Run != h.Run {
		return nil
	}
	now, ok := a.schema.Digests(in)
	if !ok {
		return nil
	}
	for i := range a.schema.Fields {
		f := &a.schema.Fields[i]
		if was.Parts[f.Part] == now[f.Part] {
			continue
		}
		return &posthouse.Error{
			Code: posthouse.CodeExists, Field: "Run",
			Message: h.Run + " of thread " + h.Thread + " began with another input: field " + f.Name + " differs",
			Hint:    "send the input that the run had, or give this one a run id of its own",
		}
	}
	return nil
}
