package runner

import (
	"context"
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
)

// Settle moves every thread that can run and records every deadline that has passed, one thread
// after another in the caller's goroutine, until there is nothing left to do now. It needs no
// [Runner.Run]: it is for tests, and for a job that a timer of yours starts, works and ends.
// Threads that another process runs, and those of programs that are not this runner's, are left
// alone.
//
// It returns ctx's error if that ends first, and otherwise an error if a thread that can run could
// not go on, after it has moved the others: Options.Logger says why. A program that fails is no error: its
// thread says so.
func (r *Runner) Settle(ctx context.Context) error {
	if err := r.wakeCallers(ctx); err != nil {
		return err
	}
	r.askLeft(ctx)
	still := map[string]uint64{} // where the log of a thread ended that has nothing to do until it goes on
	for {
		moved, left, err := r.settle(ctx, still)
		if err == nil {
			err = ctx.Err()
		}
		if err != nil || !moved && left == "" {
			return err
		}
		if !moved {
			return fmt.Errorf("runner: thread %q can run and does not go on", left)
		}
	}
}

// settle moves each thread once that has something to do, and is not where it was when there was
// nothing to do.
func (r *Runner) settle(ctx context.Context, still map[string]uint64) (moved bool, left string, err error) {
	threads, err := r.unsettled(ctx)
	if err != nil {
		return false, "", err
	}
	for _, t := range threads {
		if ctx.Err() != nil {
			return false, "", ctx.Err()
		}
		if tail, ok := still[t.Thread]; ok && tail == t.Tail.Seq {
			continue
		}
		out := r.move(ctx, t.Thread, nil)
		now, err := r.ledger.Thread(ctx, t.Thread)
		switch {
		case err != nil:
			return false, "", err
		case out.retry > 0:
			left = t.Thread // also where it wrote something: it is where it was
		case now.Tail.Seq != t.Tail.Seq:
			moved = true
		}
		if !out.again && out.retry == 0 {
			still[t.Thread] = now.Tail.Seq
		}
	}
	return moved, left, nil
}

// unsettled lists the threads that can run, or have something due.
func (r *Runner) unsettled(ctx context.Context) (all []*posthouse.ThreadInfo, err error) {
	now := r.ledger.Now()
	seen := map[string]bool{}
	for t, err := range r.ledger.Threads(ctx, posthouse.ThreadQuery{DueBefore: posthouse.Millis(now.UnixMilli())}) {
		if err != nil {
			return nil, err
		}
		if !time.UnixMilli(int64(t.Due)).After(now) {
			seen[t.Thread] = true
			all = append(all, t)
		}
	}
	for t, err := range r.ledger.Threads(ctx, posthouse.ThreadQuery{Runnable: true}) {
		if err != nil {
			return nil, err
		}
		held, err := r.ledger.Core().Owners.HeldElsewhere(ctx, t)
		if err != nil {
			return nil, err
		}
		if !held && !seen[t.Thread] {
			all = append(all, t)
		}
	}
	return all, nil
}
