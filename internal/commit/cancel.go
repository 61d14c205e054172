package commit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/core"
)

// A Cancellation says what to cancel and why.
type Cancellation struct {
	Branch string
	By     string
	Reason string
	Claim  *core.Claim  // of the run that ends itself
	Head   posthouse.ID // that the branch must have; "" is any
}

// CancelThread cancels a branch of a thread, and the threads that it waits for.
func CancelThread(ctx context.Context, c *Committer, thread string, o Cancellation) (*posthouse.Header, error) {
	return cancelAll(ctx, c, thread, o, map[string]bool{})
}

// cancelAll cancels a thread's branch and the threads that it waits for, each once.
func cancelAll(ctx context.Context, c *Committer, thread string, opt Cancellation, seen map[string]bool) (*posthouse.Header, error) {
	seen[thread] = true
	t, err := c.Lock(thread)
	if err != nil {
		return nil, err
	}
	h, written, err := cancel(ctx, c, t, opt)
	c.Unlock(t)
	switch {
	case err != nil:
		return nil, err
	case written:
		c.Observe.Checkpoint(posthouse.OpSaved, h)
		c.EnforceCap(ctx)
		if info, err := c.Logs.Thread(ctx, thread); err == nil && h.Branch == posthouse.MainBranch {
			WakeCaller(ctx, c, CallerOf(info), thread)
		}
	case h.ID == "":
		return h, nil
	default:
		h, err = c.GetHeader(ctx, h.ID)
		if err != nil {
			return nil, err
		}
	}
	if h.Status == posthouse.StatusCancelled {
		return h, cancelThreadsOf(ctx, c, h, opt, seen)
	}
	return h, nil
}

// cancelThreadsOf cancels the threads that a cancelled branch waited for.
func cancelThreadsOf(ctx context.Context, c *Committer, h *posthouse.Header, o Cancellation, seen map[string]bool) error {
	e, err := c.Logs.Reader(ctx, h.Thread).Entry(h.Seq, true)
	if err != nil {
		return err
	}
	var gates []posthouse.ID
	for i := range e.Recs {
		if d := e.Recs[i].Decision; d != nil && d.Verdict == posthouse.Cancel {
			gates = append(gates, d.Gate)
		}
	}
	o.Reason = "thread " + h.Thread + ", which waited for it, was cancelled"
	return cancelWaitedFor(ctx, c, gates, o, seen)
}

// CancelOrphans cancels the threads that a thread's gates waited for, when it went on
// without them.
func CancelOrphans(ctx context.Context, c *Committer, thread string, gates []posthouse.ID, by string) error {
	if len(gates) == 0 {
		return nil
	}
	return cancelWaitedFor(context.WithoutCancel(ctx), c, gates, Cancellation{
		By: by, Reason: "thread " + thread + ", which waited for it, went on without it",
	}, map[string]bool{thread: true})
}

// cancelWaitedFor cancels the threads that cancelled gates waited for.
func cancelWaitedFor(ctx context.Context, c *Committer, gates []posthouse.ID, o Cancellation, seen map[string]bool) error {
	called, err := WaitedFor(ctx, c.Core, gates)
	return errors.Join(err, CancelThreads(ctx, c, called, o, seen))
}

// WaitedFor returns the threads that gates wait for, except those that a fork or copy
// inherited: their source waits for them. The error names gates that cannot be read.
func WaitedFor(ctx context.Context, c *core.Core, gates []posthouse.ID) (threads []string, err error) {
	for _, id := range gates {
		g, e := c.Logs.Gate(ctx, id)
		if e == nil && (g.Kind != posthouse.GateThread || posthouse.ValidateName("thread", g.Text) != nil) {
			continue
		}
		var h *posthouse.Header
		if e == nil {
			h, e = c.GetHeader(ctx, g.Checkpoint)
		}
		switch {
		case errors.Is(e, posthouse.ErrNotFound): // it went with its checkpoint
		case e != nil:
			err = errors.Join(err, e)
		case h.Source == nil:
			threads = append(threads, g.Text)
		}
	}
	return threads, err
}

// CancelThreads cancels threads that were waited for. If one fails it goes on with the
// others.
func CancelThreads(ctx context.Context, c *Committer, threads []string, o Cancellation, seen map[string]bool) (err error) {
	o.Branch, o.Claim, o.Head = posthouse.MainBranch, nil, ""
	for _, thread := range threads {
		if seen[thread] {
			continue
		}
		if _, e := cancelAll(ctx, c, thread, o, seen); e != nil && !errors.Is(e, posthouse.ErrNotFound) {
			err = errors.Join(err, fmt.Errorf("cancel thread %s, which was waited for: %w", thread, e))
		}
	}
	return err
}

// cancel returns the branch's head. The header is complete only if cancel has written
// it.
func cancel(ctx context.Context, c *Committer, t *core.Thread, o Cancellation) (h *posthouse.Header, written bool, err error) {
	told := false
	err = c.Append(ctx, t, func(tx *core.Tx) error {
		h, written, told = &posthouse.Header{Thread: t.Name, Branch: o.Branch}, false, false
		b, ok := t.Info.Branch(o.Branch)
		h.ID, h.Status = b.Head, b.Status
		switch {
		case !ok && t.Claim != nil && o.Head == "":
			told, h.Status = true, posthouse.StatusCancelled
			return core.ErrNothing
		case !ok:
			return posthouse.NotFound("branch "+o.Branch+" of thread", t.Name)
		case o.Head != "" && o.Head != b.Head:
			return &posthouse.Error{
				Code: posthouse.CodeConflict, Head: b.Head, Message: "branch " + o.Branch + " of thread " + t.Name + " has gone on", Hint: "look at it again",
			}
		case posthouse.IsOver(b.Status):
			return core.ErrNothing
		}
		err := tx.CheckLease(o.Claim)
		if errors.Is(err, posthouse.ErrBusy) {
			told = true
			return askToCancel(tx, o)
		}
		if err != nil {
			return err
		}
		if err := cancelBranch(tx, c.Rules, o); err != nil {
			return err
		}
		h, written = &tx.Next.Header, true
		return nil
	})
	if told && t.Claim != nil && err == nil {
		t.Claim.Cancel(o.Branch)
	}
	if written && err == nil {
		h = h.Clone()
	}
	return h, written, err
}

type cancelRequest struct {
	Reason string `json:"reason,omitempty"`
}

// askToCancel adds the request, unless there is one already.
func askToCancel(tx *core.Tx, o Cancellation) error {
	if tx.Thread.Info.CancelMark(o.Branch) != nil {
		return core.ErrNothing
	}
	body, err := json.Marshal(cancelRequest{o.Reason})
	if err != nil {
		return posthouse.Invalid("reason", "does not encode: %v", err)
	}
	AddSignal(tx, &posthouse.SignalInfo{ID: tx.Core.IDs.New(tx.At), Name: posthouse.SignalCancel, By: o.By, Branch: o.Branch}, body)
	tx.Sign = true
	return nil
}

// cancelBranch adds the branch's last checkpoint. An earlier request gives its reason.
func cancelBranch(tx *core.Tx, rules *Rules, o Cancellation) error {
	if m := tx.Thread.Info.CancelMark(o.Branch); m != nil {
		s, err := tx.Core.Logs.Reader(tx.Ctx, tx.Thread.Name).Signal(m.Seq)
		if err != nil {
			return err
		}
		var req cancelRequest
		if err := json.Unmarshal(s.Value, &req); err != nil {
			return posthouse.Corrupt("the request to cancel at entry %d of thread %q does not decode: %v", m.Seq, tx.Thread.Name, err)
		}
		o.By, o.Reason = s.By, req.Reason
	}
	head, err := tx.HeadOf(o.Branch)
	if err != nil {
		return err
	}
	p := &Plan{Thread: tx.Thread.Name, Branch: o.Branch, Claim: o.Claim, Cancel: true, Checkpoint: &posthouse.Change{
		Kind: posthouse.KindCancel, Status: posthouse.StatusCancelled, Run: head.Run, Fingerprint: head.Fingerprint, Node: head.Node,
		Agent: head.Agent, Next: head.Next, Labels: head.Labels, By: o.By, Error: o.Reason,
	}}
	if err := p.Validate(); err != nil {
		return err
	}
	_, err = Write(tx, rules, p)
	return err
}

func (c *Commit) checkCancelled() error {
	tx, p := c.tx, c.plan
	asked := tx.Thread.Info.CancelMark(p.Branch) != nil || p.Claim != nil && p.Claim.IsCancelled(p.Branch)
	if !asked || p.Cancel || p.AfterCancel && p.Claim != nil {
		return nil
	}
	return &posthouse.Error{
		Code: posthouse.CodeCancelled, Tail: &tx.Thread.Info.Tail, Message: "branch " + p.Branch + " of thread " + p.Thread + " was asked to cancel",
		Hint: "stop the run and end the branch with Ledger.Cancel",
	}
}
