package runner

import (
	"cmp"
	"context"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
)

// Wait waits until a branch has parked, ended or failed, and returns its head. By then
// the thread's log has reached the sequence number after, and this runner has nothing
// more to do for the thread. Call it with the Seq of a decision. A branch that still
// waits for another gate keeps its head.
//
// It returns ctx's error if that ends first, [posthouse.ErrNotFound] for an
// unknown thread or branch, [posthouse.ErrClosed] if the runner stopped before
// that, and the program's error if a [Runner.Resume] left nothing
// in the log.
func (r *Runner) Wait(ctx context.Context, thread, branch string, after uint64) (*posthouse.Header, error) {
	branch = cmp.Or(branch, posthouse.MainBranch)
	moved, quit := r.queue.listen(thread)
	defer quit()
	poll := time.NewTicker(r.opt.Poll)
	defer poll.Stop()
	for kick := true; ; {
		// First, so that it is not newer than the log that is read then.
		busy, last, stopped := r.queue.about(thread)
		info, err := r.ledger.Thread(ctx, thread)
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err != nil:
			return nil, err
		}
		b, ok := info.Branch(branch)
		switch {
		case !ok:
			return nil, engine.UnknownThread(thread, branch)
		case busy || info.Tail.Seq < after:
		case !b.Status.Runnable() && b.Seq <= after && last.err != nil:
			return nil, last.err
		case !b.Status.Runnable(), last.tail == info.Tail.Seq && !last.resign:
			return r.ledger.GetHeader(ctx, b.Head)
		case stopped:
			return nil, closed("thread " + thread + " goes on when a runner starts again")
		case kick && last.tail != info.Tail.Seq:
			r.Kick(thread)
		}
		kick = false
		select {
		case <-moved:
		case <-poll.C:
			kick = true
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// Resume resumes a branch that was interrupted or failed. It returns once that is under
// way; see [Runner.Wait] for the outcome. [posthouse.ErrNotFound] for an unknown thread or branch,
// [posthouse.ErrUnsupported] if its program is not one of this runner's,
// [posthouse.ErrClosed] if the runner is not running.
func (r *Runner) Resume(ctx context.Context, thread, branch string) error {
	info, err := r.ledger.Thread(ctx, thread)
	if err != nil {
		return err
	}
	b, ok := info.Branch(branch)
	if !ok {
		return engine.UnknownThread(thread, branch)
	}
	h, err := r.ledger.GetHeader(ctx, b.Head)
	if err != nil {
		return err
	}
	if r.programs[h.Graph] == nil {
		return r.foreign(h.Graph, thread)
	}
	if !r.queue.force(thread, b.Branch) {
		return closed("start it with Run")
	}
	return nil
}

func closed(hint string) error {
	return &posthouse.Error{Code: posthouse.CodeClosed, Message: "the runner is not running", Hint: hint}
}
