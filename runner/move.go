package runner

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/engine/stream"
	"github.com/posthouse/posthouse/ledger"
)

// An advance is what became of a branch that a program was to go on with.
type advance struct {
	from *posthouse.Header // the head that it found
	err  error
}

// move advances the branches of a thread that can run, and those that are
// forced to.
func (r *Runner) move(ctx context.Context, thread string, forced []string) (out outcome) {
	info, err := r.ledger.Thread(ctx, thread)
	if err != nil {
		return r.unread(ctx, thread, err)
	}
	changed, retry := r.recordOverdue(ctx, info)
	if changed {
		info, err = r.ledger.Thread(ctx, thread)
		if err != nil {
			return r.unread(ctx, thread, err)
		}
	}
	out.retry = retry
	ran := map[posthouse.BranchHead]advance{}
	foreign := false
	for _, b := range info.Branches {
		if !b.Status.Runnable() && !slices.Contains(forced, b.Branch) || engine.Draining(ctx) {
			continue
		}
		h, err := ledger.HeadOf(ctx, r.ledger, info, b)
		if err != nil {
			r.log(ctx, "cannot read a head; trying again", thread, b.Branch, err)
			out.retry = maxPause
			continue
		}
		if p := r.programs[h.Graph]; p != nil {
			ran[b] = advance{h, r.advance(ctx, p, thread, b.Branch)}
		} else {
			foreign = true
		}
	}
	if foreign && r.askLost(ctx, info, true) {
		out.retry = max(out.retry, maxPause)
	}
	if len(ran) == 0 {
		if foreign && out.retry == 0 {
			out.tail, out.resign = info.Tail.Seq, true
		}
		return out
	}
	now, err := r.ledger.Thread(ctx, thread)
	if err != nil {
		return r.unread(ctx, thread, err)
	}
	return r.compare(ctx, info, now, ran, out.retry)
}

// advance has a program go on with a branch, and tells what it emits.
func (r *Runner) advance(ctx context.Context, p posthouse.Program, thread, branch string) error {
	if tell := r.opt.Emitted; tell != nil {
		heard := stream.NewEmitter(func(_ context.Context, _ <-chan struct{}, e stream.Emission) {
			tell(&Emission{thread, branch, cmp.Or(e.Outer, e.Step), e.Attempt, e.Text, e.Value, e.Custom})
		})
		defer heard.Close()
		ctx = heard.With(ctx)
	}
	return engine.Guard(func() error { return p.Advance(ctx, thread, branch) })
}

func (r *Runner) unread(ctx context.Context, thread string, err error) outcome {
	if errors.Is(err, posthouse.ErrNotFound) {
		return outcome{}
	}
	r.log(ctx, "cannot read a thread; trying again", thread, "", err)
	return outcome{retry: maxPause}
}

// compare derives the outcome from a thread before and after branches were advanced.
func (r *Runner) compare(ctx context.Context, before, after *posthouse.ThreadInfo, ran map[posthouse.BranchHead]advance, retry time.Duration) outcome {
	if engine.Draining(ctx) {
		return outcome{} // the next runner goes on
	}
	out := outcome{retry: retry}
	stuck, left := false, false
	for b, a := range ran {
		err := a.err
		now, _ := after.Branch(b.Branch)
		moved := now.Head != b.Head || now.Seq != b.Seq
		switch {
		case elsewhere(err, now.Status, before.Tail != after.Tail): // until it parks, or its owner is gone
			out.retry = max(out.retry, 2*r.opt.Poll)
		case errors.Is(err, posthouse.ErrCancelled) && !now.Status.Runnable():
		case errors.Is(err, posthouse.ErrOtherVersion) && (moved || now.Status.Runnable()):
			r.leave(ctx, a.from, err)
			left = true
		case err != nil && !errors.Is(err, posthouse.ErrWaiting) && now.Status.Runnable():
			r.log(ctx, "cannot go on with a thread; trying again", after.Thread, b.Branch, err)
			out.retry = maxPause
		case err != nil && !errors.Is(err, posthouse.ErrWaiting):
			r.log(ctx, ended(now.Status), after.Thread, b.Branch, err)
			if !moved {
				out.err = errors.Join(out.err, err)
			}
		case !now.Status.Runnable():
		case moved:
			out.again = true
		case r.wrote(ctx, before, after):
			out.retry = maxPause // it did something, but is where it was
		default:
			stuck = true // what it asks for is not all decided
		}
	}
	switch {
	case out.again || out.retry > 0:
	case left: // another process may have gone on since
		out.tail, out.resign = before.Tail.Seq, !stuck
	case stuck:
		out.tail = after.Tail.Seq
	}
	return out
}

// leave says that a thread is left to processes with another version of its program. It says
// so once a version: while versions are changed there may be very many threads.
func (r *Runner) leave(ctx context.Context, from *posthouse.Header, reason error) {
	level := slog.LevelDebug
	if _, said := r.versions.LoadOrStore(from.Graph+"\x00"+from.Fingerprint, true); !said {
		level = slog.LevelInfo
	}
	r.opt.Logger.Log(ctx, level, "threads of another version of a program are left to processes that run it",
		"program", from.Graph, "version", from.Fingerprint, "thread", from.Thread, "reason", reason)
}

// wrote reports whether anything but claims was written in between.
func (r *Runner) wrote(ctx context.Context, before, after *posthouse.ThreadInfo) bool {
	if before.Tail.Seq == after.Tail.Seq {
		return false
	}
	for e, err := range r.ledger.Log(ctx, after.Thread, posthouse.Range{From: before.Tail.Seq + 1, To: after.Tail.Seq, Headers: true}) {
		if err != nil {
			return true
		}
		for i := range e.Records {
			if e.Records[i].Claim == nil {
				return true
			}
		}
	}
	return false
}

// elsewhere reports whether somebody else has the thread. A conflict says so if the thread
// went on and did not fail. Otherwise it is a node's or a merge's own, and stays.
func elsewhere(err error, now posthouse.Status, wrote bool) bool {
	if errors.Is(err, posthouse.ErrBusy) || errors.Is(err, posthouse.ErrFenced) {
		return true
	}
	return errors.Is(err, posthouse.ErrConflict) && wrote && now != posthouse.StatusFailed
}

// ended says what an error of a run means if its branch cannot go on. A store that is away
// after the last commit, for example, fails no thread that waits for an answer.
func ended(now posthouse.Status) string {
	if now == posthouse.StatusFailed {
		return "a run failed; the thread waits to be resumed"
	}
	return "an error after the last checkpoint of a run; the thread is " + string(now)
}

func (r *Runner) log(ctx context.Context, msg, thread, branch string, err error) {
	if ctx.Err() != nil {
		return
	}
	r.opt.Logger.Error(msg, "thread", thread, "branch", branch, "error", err)
}
