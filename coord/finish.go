package coord

import (
	"context"
	"errors"
	"strings"

	"github.com/posthouse/posthouse"
)

// commitEnd commits the outcome of the handler.
func (r *run) commitEnd(ctx context.Context, failed error) (*Reply, error) {
	if r.isCancelled(ctx) {
		return r.finishCancelled(ctx)
	}
	if err := r.sessionError(); err != nil {
		return nil, err
	}
	r.mu.Lock()
	stopped := r.stopped
	r.mu.Unlock()
	switch {
	case r.task.Waiting():
		return r.park(ctx)
	case errors.Is(failed, posthouse.ErrWaiting):
		failed = &posthouse.Error{
			Code: posthouse.CodeInvalid, Message: "the handler waits, but asked nothing",
			Hint: "return posthouse.ErrWaiting only where gate.Ask or an agent returned it",
		}
	case stopped:
		return r.leaveInterrupted(ctx, nil)
	case failed != nil && ctx.Err() != nil:
		return r.leaveInterrupted(ctx, failed)
	}
	failed, _ = r.task.Records().EndedBy(failed)
	return r.commitResult(ctx, failed)
}

// leaveInterrupted commits what completed, so that the request can be resumed.
func (r *run) leaveInterrupted(ctx context.Context, cause error) (*Reply, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.due {
		if err := r.flush(ctx); err != nil {
			return nil, err
		}
	}
	return r.reply(), cause
}

// park commits the questions together with what was held.
func (r *run) park(ctx context.Context) (*Reply, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.task.Gates().Changed(); err != nil {
		return r.interrupt(ctx, err)
	}
	questions := r.task.Gates().New()
	if len(questions)+len(r.task.Gates().Stale()) == 0 && !r.due && r.opening == nil {
		still, err := r.stillWaiting(ctx)
		if err != nil || still != nil {
			return still, err
		}
	}
	ch := r.held.change
	if ch == nil {
		ch = r.change(posthouse.KindWait)
	}
	ch.Status, ch.Next = posthouse.StatusWaiting, []string{r.c.name}
	if err := r.writeEntry(ctx, ch, questions); err != nil {
		return nil, err
	}
	p := r.reply()
	if r.c.opt.Parked != nil {
		r.session.Stream(r.c.opt.Parked(*p))
		p.Text = r.session.Text()
	}
	return p, nil
}

// interrupt stops a request that asks differently each time, for a person to look at it.
// Callers hold r.mu.
func (r *run) interrupt(ctx context.Context, cause error) (*Reply, error) {
	ch := r.change(posthouse.KindFail)
	ch.Status, ch.Next, ch.Error = posthouse.StatusInterrupted, []string{r.c.name}, strings.ToValidUTF8(cause.Error(), "\uFFFD")
	if err := r.writeEntry(ctx, ch, nil); err != nil {
		return nil, err
	}
	return r.reply(), cause
}

// stillWaiting returns the reply if the branch still waits for the same gates. A branch
// that one of several decisions made ready gets a new waiting checkpoint instead.
func (r *run) stillWaiting(ctx context.Context) (*Reply, error) {
	if parked, err := r.sess.Parked(ctx); !parked || err != nil {
		return nil, err
	}
	r.listOpenGates()
	return r.reply(), nil
}

// commitResult commits the request's last checkpoint: that of the agent that completed
// last, or one of the coordinator's own.
func (r *run) commitResult(ctx context.Context, failed error) (*Reply, error) {
	r.mu.Lock()
	r.ending = true
	concluded := Result{Text: r.session.Text()}
	if r.conclusion != nil {
		concluded = *r.conclusion
	}
	var trouble string
	switch {
	case failed != nil:
		trouble = strings.ToValidUTF8(failed.Error(), "\uFFFD")
	case r.conclusion == nil:
		trouble = r.failure
	}
	r.mu.Unlock()

	e := r.event(CoordinationCompleted, r.req.Event)
	e.Text, e.Data, e.Error, e.ElapsedMS = concluded.Text, concluded.Data, trouble, r.elapsed(r.began)
	if err := r.emit(ctx, e, nil); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	ch, err := r.lastChange(ctx, e, trouble)
	if err != nil {
		return nil, err
	}
	if err := r.writeEntry(ctx, ch, nil); err != nil {
		return nil, err
	}
	return r.reply(), failed
}

// lastChange returns the checkpoint that ends the request. Callers hold r.mu.
func (r *run) lastChange(ctx context.Context, e Event, trouble string) (*posthouse.Change, error) {
	ch, bad := r.held.change, trouble != ""
	if ch != nil && ch.Labels[labelEvent] != string(e.ID) && bad != (r.held.failure != nil) {
		if err := r.flush(ctx); err != nil {
			return nil, err
		}
		ch = nil
	}
	if bad {
		if ch == nil {
			ch = r.change(posthouse.KindFail)
		}
		ch.Kind, ch.Status, ch.Error, ch.Next = posthouse.KindFail, posthouse.StatusFailed, trouble, []string{r.c.name}
		return ch, nil
	}
	var err error
	if ch == nil {
		ch = &posthouse.Change{}
		ch.State, err = posthouse.Opaque(nil, RequestState{
			Request: r.req.Message, Result: strings.ToValidUTF8(e.Text, "\uFFFD"), Data: e.Data,
		})
	}
	ch.Kind, ch.Status, ch.Next = posthouse.KindNode, posthouse.StatusDone, nil
	return ch, err
}

// Conclude sets the result of a request, for a handler that ends without an agent's
// completion. It becomes the text and data of CoordinationCompleted and the state of the
// last checkpoint, see [RequestState]. After an agent's failure it says that the handler
// has dealt with that. Without it the text is what the handler streamed.
// [posthouse.ErrInvalid] outside of a handler, or for Data that is not JSON.
func Conclude(ctx context.Context, result Result) error {
	f, err := handlerFrame(ctx)
	if err != nil {
		return err
	}
	if _, err := posthouse.Encode(nil, result); err != nil {
		return err
	}
	f.run.mu.Lock()
	defer f.run.mu.Unlock()
	f.run.conclusion = &result
	return nil
}
