package commit

import (
	"context"
	"errors"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/core"
)

// Labels of a thread that another one called. Package calls of graph writes them.
const (
	labelParent = "parent" // the thread that called it
	labelCalled = "called" // the thread itself: a fork and a copy take labels along
)

// CallerOf returns the thread that called a thread and may wait for it, "" for no thread.
func CallerOf(info *posthouse.ThreadInfo) string {
	if info == nil || info.Labels[labelCalled] != info.Thread {
		return ""
	}
	return info.Labels[labelParent]
}

// HasEnded reports whether a thread that another one waits for does not continue by itself: its
// main branch has ended in any way, or it is gone.
func HasEnded(ctx context.Context, c *core.Core, thread string) (bool, error) {
	info, err := c.Logs.Thread(ctx, thread)
	if errors.Is(err, posthouse.ErrNotFound) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	b, ok := info.Branch(posthouse.MainBranch)
	return !ok || ends(b.Status), nil
}

// ends reports whether a branch with this status neither waits nor runs.
func ends(s posthouse.Status) bool {
	return posthouse.IsOver(s) || s == posthouse.StatusFailed || s == posthouse.StatusInterrupted
}

// WakeCaller ends the caller's waits for a thread that has ended. Whoever ends a thread calls it,
// after the end is on record. A failure is not the end's: the look of a runner, see [WakeWaiting],
// finds such a wait, as it finds that of a process that was lost in between.
func WakeCaller(ctx context.Context, c *Committer, caller, thread string) {
	if caller == "" || caller == thread {
		return
	}
	ctx = context.WithoutCancel(ctx)
	info, err := c.Logs.Thread(ctx, caller)
	if err != nil {
		return
	}
	for _, w := range info.Waiting {
		if w.Kind != posthouse.GateThread {
			continue
		}
		if g, err := c.Logs.Gate(ctx, w.ID); err == nil && g.Text == thread {
			_ = wake(ctx, c, g)
		}
	}
}

// WakeIfEnded ends the wait of a gate for a thread if that has ended, and reports it.
func WakeIfEnded(ctx context.Context, c *Committer, g *posthouse.Gate) (bool, error) {
	ended, err := HasEnded(ctx, c.Core, g.Text)
	if err != nil || !ended {
		return false, err
	}
	return true, wake(ctx, c, g)
}

// wake ends a wait for a thread.
func wake(ctx context.Context, c *Committer, g *posthouse.Gate) error {
	_, err := Decide(ctx, c, GateRef{Gate: g.ID}, func(*core.Tx, *posthouse.Gate) (*posthouse.Decision, error) {
		return &posthouse.Decision{Verdict: posthouse.Cancel, By: posthouse.RuntimeActor, Reason: "thread " + g.Text + " went on"}, nil
	})
	if errors.Is(err, posthouse.ErrDecided) || errors.Is(err, posthouse.ErrExpired) || errors.Is(err, posthouse.ErrNotFound) {
		return nil
	}
	return err
}
