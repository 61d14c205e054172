package threads

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/client"
)

// Resume returns the command resume.
func Resume(e *env.Env) *cobra.Command {
	var branch string
	var wait time.Duration
	var dry bool
	cmd := &cobra.Command{
		Use:   "resume THREAD|CHECKPOINT|GATE",
		Short: "Make a branch that was interrupted or failed go on",
		Long: `Make a branch that was interrupted or failed go on.

Give a thread (its branch main unless --branch names another), the checkpoint at
the head of a branch, or a gate that it asked. Recorded steps are not run again.
Exit code 1 if it fails again. --dry-run says what would run, and which effects would be
tried again under whose decision.

A thread that another run has is busy (exit code 4). --wait tries again for so long: the
error says how long is enough if the process of that run is gone.`,
		Example: `  posthouse resume 019a...
  posthouse resume order-1234 --dry-run
  posthouse resume order-1234 --wait 2m
  posthouse resume order-1234 --branch what-if`,
		RunE: e.Online(func(ctx context.Context, c *client.Client, args []string) error {
			id, err := headOf(ctx, c, args[0], branch)
			if err != nil {
				return err
			}
			if dry {
				return wouldResume(ctx, e, c, id)
			}
			return untilFree(ctx, wait, func() error { return start(ctx, e, c, startPath(id, "resume"), nil) })
		}),
	}
	branchFlag(cmd, &branch)
	env.DryRunFlag(cmd, &dry)
	cmd.Flags().DurationVar(&wait, "wait", 0, "how long to wait for a thread that another run has, as in 2m")
	return cmd
}

// lookEvery is how often a busy thread is asked for again.
const lookEvery = 500 * time.Millisecond

// untilFree calls fn again while the thread is busy, until the time of the wait is over.
func untilFree(ctx context.Context, wait time.Duration, fn func() error) error {
	if wait < 0 {
		return posthouse.Invalid("wait", "is negative")
	}
	over, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	for {
		err := fn()
		if !errors.Is(err, posthouse.ErrBusy) {
			return err
		}
		select {
		case <-over.Done():
			return cmp.Or(ctx.Err(), err)
		case <-time.After(lookEvery):
		}
	}
}

// startPath returns the path of a verb on a checkpoint, given its id or a gate's.
func startPath(id, verb string) string {
	if strings.HasPrefix(id, "gate-") {
		return "/api/gates" + client.Path(id, verb)
	}
	return "/api/checkpoints" + client.Path(id, verb)
}

// headOf returns the head of a thread's branch. An id that is not a thread's is
// returned as it is, for a checkpoint's or a gate's.
func headOf(ctx context.Context, c *client.Client, id, branch string) (string, error) {
	var t posthouse.ThreadInfo
	err := c.Get(ctx, client.ThreadPath(id), nil, &t)
	switch {
	case errors.Is(err, posthouse.ErrNotFound) && branch == "":
		return id, nil
	case err != nil:
		return "", err
	}
	b, ok := t.Branch(branch)
	if !ok {
		return "", &posthouse.Error{
			Code: posthouse.CodeNotFound, Message: "thread " + id + " has no branch " + branch,
			Hint: "posthouse thread show " + id + " lists them",
		}
	}
	return string(b.Head), nil
}
