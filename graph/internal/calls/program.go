package calls

import (
	"cmp"
	"context"
	"errors"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
)

// A Program is the program of threads that others call. It wakes the caller of a
// thread that went on, and cancels threads if their caller will not come back.
type Program struct {
	posthouse.Program
	ledger *ledger.Ledger
}

// NewProgram returns the program of the threads that p runs and others call.
func NewProgram(p posthouse.Program, l *ledger.Ledger) *Program { return &Program{p, l} }

// Advance goes on with the subgraph and wakes its caller. It cancels the thread if
// the caller will not come back.
func (p *Program) Advance(ctx context.Context, thread, branch string) error {
	if gone, err := p.cancelOrphan(ctx, thread, branch); err != nil || gone {
		return err
	}
	err := p.Program.Advance(ctx, thread, branch)
	if errors.Is(err, posthouse.ErrBusy) {
		return err
	}
	return errors.Join(err, p.wakeCaller(ctx, thread))
}

// Describe implements [posthouse.Describer]. Such a thread begins with its caller.
func (p *Program) Describe() *posthouse.ProgramInfo {
	d := &posthouse.ProgramInfo{Name: p.Name()}
	if graph, ok := p.Program.(posthouse.Describer); ok {
		d = graph.Describe()
	}
	d.Kind, d.Starts = posthouse.ProgramSubgraph, false
	return d
}

// CheckReplay implements runner.ReplayChecker.
func (p *Program) CheckReplay(ctx context.Context, c *posthouse.Checkpoint) error {
	if r, ok := p.Program.(interface {
		CheckReplay(context.Context, *posthouse.Checkpoint) error
	}); ok {
		return r.CheckReplay(ctx, c)
	}
	return nil
}

// CheckState implements runner.StateChecker.
func (p *Program) CheckState(c *posthouse.Checkpoint, changed posthouse.State) error {
	if r, ok := p.Program.(interface {
		CheckState(*posthouse.Checkpoint, posthouse.State) error
	}); ok {
		return r.CheckState(c, changed)
	}
	return nil
}

// sweepPage is how many threads a sweep reads before it looks after them.
const sweepPage = 256

// Sweep cancels waiting threads if their caller will not come back. The process that
// cancelled or deleted the caller failed, or was lost, before it cancelled them. Sweep
// tries all threads and joins the errors.
func (p *Program) Sweep(ctx context.Context) error {
	var failed error
	q := posthouse.ThreadQuery{Graph: p.Name(), Status: posthouse.StatusWaiting, Waiting: true, Limit: sweepPage}
	for {
		var waiting []string
		for info, err := range p.ledger.Threads(ctx, q) {
			if err != nil {
				return errors.Join(failed, err)
			}
			waiting = append(waiting, info.Thread)
		}
		for _, thread := range waiting {
			_, err := p.cancelOrphan(ctx, thread, posthouse.MainBranch)
			failed = errors.Join(failed, err)
		}
		if len(waiting) < sweepPage {
			return failed
		}
		q.After = waiting[sweepPage-1]
	}
}

// cancelOrphan cancels a thread in the middle of a call if its caller's branch is
// cancelled, done or gone.
func (p *Program) cancelOrphan(ctx context.Context, thread, branch string) (bool, error) {
	if branch != posthouse.MainBranch {
		return false, nil
	}
	call, err := openLabels(ctx, p.ledger, thread)
	if err != nil || call == nil {
		return false, err
	}
	how := "is gone"
	info, err := p.ledger.Thread(ctx, call[LabelParent])
	if errors.Is(err, posthouse.ErrNotFound) {
		if gone, err := wasRemoved(ctx, p.ledger, call[LabelParent]); err != nil || !gone {
			return false, err
		}
	} else if err != nil {
		return false, err
	} else if b, ok := info.Branch(cmp.Or(call[LabelBranch], posthouse.MainBranch)); ok {
		switch {
		case b.Status == posthouse.StatusCancelled:
			how = "was cancelled"
		case b.Status == posthouse.StatusDone && !info.Lease.Held:
			how = "is done"
		default:
			return false, nil
		}
	}
	_, err = p.ledger.Cancel(ctx, thread, &ledger.CancelOptions{Reason: "thread " + call[LabelParent] + ", which called it, " + how})
	return err == nil, err
}

// wakeCaller ends the waits of the caller of a thread, unless the thread waits itself.
// A gate that cannot be read does not keep the others open; its error is returned.
func (p *Program) wakeCaller(ctx context.Context, thread string) error {
	info, err := p.ledger.Thread(ctx, thread)
	if err != nil || info.Status == posthouse.StatusWaiting {
		return err
	}
	call, err := LabelsOf(ctx, p.ledger, thread)
	if err != nil || call == nil {
		return err
	}
	var unread error
	for g, err := range p.ledger.Gates(ctx, ledger.GateQuery{Thread: call[LabelParent], Kind: posthouse.GateThread}) {
		if err != nil {
			unread = errors.Join(unread, err)
			continue
		}
		if g.Text != thread {
			continue
		}
		_, err := p.ledger.Withdraw(ctx, g.ID, ledger.Withdrawal{By: posthouse.RuntimeActor, Reason: "thread " + thread + " went on"})
		if err != nil && !errors.Is(err, posthouse.ErrDecided) && !errors.Is(err, posthouse.ErrNotFound) {
			return errors.Join(unread, err)
		}
	}
	return unread
}

// wasRemoved reports whether a thread was deleted or released. A thread that was never
// in this store may be in another one: an import need not bring the caller along.
func wasRemoved(ctx context.Context, l *ledger.Ledger, thread string) (bool, error) {
	for info, err := range l.Store().Threads(ctx, posthouse.ThreadQuery{Thread: thread}) {
		if err != nil {
			return false, err
		}
		return info.Generation > 1 && !info.Lease.Held, nil
	}
	return false, nil
}

// openLabels returns the labels of the checkpoint that began a thread's last call. It
// returns nil if that call is over. Whatever a person runs on the thread later has no
// caller.
func openLabels(ctx context.Context, l *ledger.Ledger, thread string) (map[string]string, error) {
	q := posthouse.Query{Thread: thread, Branch: posthouse.MainBranch}
	return lastCall(ctx, l, q, func(h *posthouse.Header) bool {
		return h.Kind == posthouse.KindInput || h.Status == posthouse.StatusDone || h.Status == posthouse.StatusCancelled
	})
}
