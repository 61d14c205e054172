package posthouse

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
)

// CancelOptions say what to cancel and why. Nil is the zero value.
type CancelOptions struct {
	Branch string // default [MainBranch]
	By     string // who asks for it; at most 200 bytes
	Reason string // at most 4,000 bytes
	Claim  *Claim // set by the run that has the thread, to end itself
}

func (o *CancelOptions) withDefaults() (CancelOptions, error) {
	var c CancelOptions
	if o != nil {
		c = *o
	}
	c.Branch = cmp.Or(c.Branch, MainBranch)
	if err := ValidateName("branch", c.Branch); err != nil {
		return c, err
	}
	if len(c.Reason) > maxText || !checkUTF8(c.Reason) {
		return c, invalid("reason", "must be at most %d bytes of text", maxText)
	}
	return c, CheckPerson("by", c.By)
}

// Cancel ends a branch. If no run has the thread it appends a checkpoint of
// status cancelled, which cancels the branch's open gates, and returns it. If
// one has, it appends a request and returns the head as it is: a run of this
// process learns of it at once by [Claim.Cancelled], one of another process by
// its next commit, which fails with [ErrCancelled] unless it is [Draft.Late].
// Either then ends the branch itself. Of cancelling and finishing the first on
// record stands.
//
// A branch that is done or cancelled, or asked to cancel before, stays as it
// is; its head is returned. Where a run of this process has recorded nothing
// yet it is told, and the header returned has no id. Calling again after the
// run was lost ends the branch. [ErrNotFound] for a thread or branch that is
// not there.
//
// Threads whose end a cancelled branch waited for ([GateThread]) are cancelled,
// too, but not what a fork took along a wait for and its source waits for. If
// that fails the error says so, and another call makes up for it.
func (l *Ledger) Cancel(ctx context.Context, thread string, o *CancelOptions) (*Header, error) {
	opt, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	return l.cancelAll(ctx, thread, opt, map[string]bool{})
}

// cancelAll cancels a thread's branch and what that waited for, each thread
// once.
func (l *Core) cancelAll(ctx context.Context, thread string, opt CancelOptions, seen map[string]bool) (*Header, error) {
	seen[thread] = true
	t, err := l.lock(thread)
	if err != nil {
		return nil, err
	}
	h, written, err := l.cancel(ctx, t, opt)
	l.unlock(t)
	switch {
	case err != nil:
		return nil, err
	case written:
		l.observeCheckpoint(OpSaved, h)
		l.evict(ctx)
	case h.ID == "":
		return h, nil
	default:
		if h, err = l.GetHeader(ctx, h.ID); err != nil {
			return nil, err
		}
	}
	if h.Status == StatusCancelled {
		return h, l.cancelCalled(ctx, h, opt, seen)
	}
	return h, nil
}

// cancelCalled cancels the threads that a cancelled branch waited for.
func (l *Core) cancelCalled(ctx context.Context, h *Header, o CancelOptions, seen map[string]bool) error {
	e, err := l.reader(ctx, h.Thread).entry(h.Seq, true)
	if err != nil {
		return err
	}
	var gates []ID
	for i := range e.recs {
		if d := e.recs[i].Decision; d != nil && d.Verdict == Cancel {
			gates = append(gates, d.Gate)
		}
	}
	o.Reason = "thread " + h.Thread + ", which waited for it, was cancelled"
	return l.cancelFor(ctx, gates, o, seen)
}

// forsake cancels the threads that gates of a thread waited for, because it went
// on without them.
func (l *Core) forsake(ctx context.Context, thread string, gates []ID, by string) error {
	if len(gates) == 0 {
		return nil
	}
	return l.cancelFor(context.WithoutCancel(ctx), gates, CancelOptions{
		By: by, Reason: "thread " + thread + ", which waited for it, went on without it",
	}, map[string]bool{thread: true})
}

// cancelFor cancels the threads that cancelled gates waited for.
func (l *Core) cancelFor(ctx context.Context, gates []ID, o CancelOptions, seen map[string]bool) error {
	called, err := l.waitedFor(ctx, gates)
	return errors.Join(err, l.cancelThreads(ctx, called, o, seen))
}

// waitedFor returns the threads that gates wait for. One that a fork or a copy
// took along is its source's to wait for. The error tells of gates that cannot
// be read.
func (l *Core) waitedFor(ctx context.Context, gates []ID) (threads []string, err error) {
	for _, id := range gates {
		g, e := l.Gate(ctx, id)
		if e == nil && (g.Kind != GateThread || ValidateName("thread", g.Text) != nil) {
			continue
		}
		var h *Header
		if e == nil {
			h, e = l.GetHeader(ctx, g.Checkpoint)
		}
		switch {
		case errors.Is(e, ErrNotFound): // it went with its checkpoint
		case e != nil:
			err = errors.Join(err, e)
		case h.Source == nil:
			threads = append(threads, g.Text)
		}
	}
	return threads, err
}

// cancelThreads cancels threads that were waited for, the others also where one
// fails.
func (l *Core) cancelThreads(ctx context.Context, threads []string, o CancelOptions, seen map[string]bool) (err error) {
	o.Branch, o.Claim = MainBranch, nil
	for _, thread := range threads {
		if seen[thread] {
			continue
		}
		if _, e := l.cancelAll(ctx, thread, o, seen); e != nil && !errors.Is(e, ErrNotFound) {
			err = errors.Join(err, fmt.Errorf("cancel thread %s, which was waited for: %w", thread, e))
		}
	}
	return err
}

// cancel returns the branch's head, complete only if it has written it.
func (l *Core) cancel(ctx context.Context, t *thread, o CancelOptions) (h *Header, written bool, err error) {
	told := false
	err = l.append(ctx, t, func(a *appending) error {
		h, written, told = &Header{Thread: t.name, Branch: o.Branch}, false, false
		b, ok := t.info.Branch(o.Branch)
		h.ID, h.Status = b.Head, b.Status
		switch {
		case !ok && t.claim != nil:
			told, h.Status = true, StatusCancelled
			return errNothing
		case !ok:
			return notFound("branch "+o.Branch+" of thread", t.name)
		case isOver(b.Status):
			return errNothing
		}
		err := a.checkLease(o.Claim)
		if errors.Is(err, ErrBusy) {
			told = true
			return a.askToCancel(o)
		}
		if err != nil {
			return err
		}
		if err := a.cancelBranch(o); err != nil {
			return err
		}
		h, written = &a.next.Header, true
		return nil
	})
	if told && t.claim != nil && (err == nil || errors.Is(err, errNothing)) {
		t.claim.cancel(o.Branch, o.Reason)
	}
	if errors.Is(err, errNothing) {
		err = nil
	}
	if written && err == nil {
		h = h.clone()
	}
	return h, written, err
}

// A cancelRequest is the value of the signal that asks a run to cancel.
type cancelRequest struct {
	Reason string `json:"reason,omitempty"`
}

// askToCancel adds the request, unless there is one.
func (a *appending) askToCancel(o CancelOptions) error {
	if a.t.info.cancelMark(o.Branch) != nil {
		return errNothing
	}
	body, err := json.Marshal(cancelRequest{o.Reason})
	if err != nil {
		return invalid("reason", "does not encode: %v", err)
	}
	a.signal(&SignalInfo{ID: a.l.ids.new(a.at), Name: signalCancel, By: o.By, Branch: o.Branch}, body)
	a.sign = true
	return nil
}

// cancelBranch adds the branch's last checkpoint, for the reason of the request
// if there was one before.
func (a *appending) cancelBranch(o CancelOptions) error {
	if m := a.t.info.cancelMark(o.Branch); m != nil {
		s, err := a.l.reader(a.ctx, a.t.name).signal(m.Seq)
		if err != nil {
			return err
		}
		var req cancelRequest
		if err := json.Unmarshal(s.Value, &req); err != nil {
			return corrupt("the request to cancel at entry %d of thread %q does not decode: %v", m.Seq, a.t.name, err)
		}
		o.By, o.Reason = s.By, req.Reason
	}
	head, err := a.l.headOf(a.ctx, a.t, o.Branch)
	if err != nil {
		return err
	}
	d := &Plan{Thread: a.t.name, Branch: o.Branch, Claim: o.Claim, Cancel: true, Checkpoint: &Change{
		Kind: KindCancel, Status: StatusCancelled, Run: head.Run, Fingerprint: head.Fingerprint, Node: head.Node,
		Agent: head.Agent, Next: head.Next, Labels: head.Labels, By: o.By, Error: o.Reason,
	}}
	if err := d.validate(); err != nil {
		return err
	}
	_, err = WritePlan(a, d)
	return err
}

// checkCancelled lets the plan pass unless its branch was asked to cancel.
func (c *Commit) checkCancelled() error {
	tx, d := c.tx, c.plan
	asked := tx.t.info.cancelMark(d.Branch) != nil || d.Claim != nil && d.Claim.isCancelled(d.Branch)
	if !asked || d.Cancel || d.Late && d.Claim != nil {
		return nil
	}
	return &Error{
		Code: CodeCancelled, Tail: &tx.t.info.Tail, Message: "branch " + d.Branch + " of thread " + d.Thread + " was asked to cancel",
		Hint: "stop the run and end the branch with Ledger.Cancel",
	}
}

// A claimEnd tells a run that a branch is to be cancelled.
type claimEnd struct {
	ch     chan struct{}
	done   bool
	reason string
}

// claimEnds are a claim's, by branch.
type claimEnds struct {
	mu   sync.Mutex
	ends map[string]*claimEnd
}

func (c *claimEnds) end(branch string) *claimEnd {
	branch = cmp.Or(branch, MainBranch)
	if c.ends == nil {
		c.ends = map[string]*claimEnd{}
	}
	if c.ends[branch] == nil {
		c.ends[branch] = &claimEnd{ch: make(chan struct{})}
	}
	return c.ends[branch]
}

// Cancelled returns a channel that is closed when somebody asks to cancel the
// branch: at once if that is in this process or was on record before the claim,
// else at the next commit.
func (c *Claim) Cancelled(branch string) <-chan struct{} {
	c.ends.mu.Lock()
	defer c.ends.mu.Unlock()
	return c.ends.end(branch).ch
}

// CancelReason returns the reason that was given in this process, if any.
func (c *Claim) CancelReason(branch string) string {
	c.ends.mu.Lock()
	defer c.ends.mu.Unlock()
	return c.ends.end(branch).reason
}

func (c *Claim) isCancelled(branch string) bool {
	c.ends.mu.Lock()
	defer c.ends.mu.Unlock()
	return c.ends.ends != nil && c.ends.end(branch).done
}

func (c *Claim) cancel(branch, reason string) {
	c.ends.mu.Lock()
	defer c.ends.mu.Unlock()
	e := c.ends.end(branch)
	e.reason = cmp.Or(e.reason, reason)
	if !e.done {
		e.done = true
		close(e.ch)
	}
}

// tell lets the run that has the thread know of requests to cancel.
func (t *thread) tell() {
	if t.claim == nil {
		return
	}
	for _, m := range t.info.Cancelling {
		t.claim.cancel(m.Branch, "")
	}
}
