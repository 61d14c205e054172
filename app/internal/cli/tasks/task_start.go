package tasks

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/term"
	"github.com/posthouse/posthouse/client"
)

// Pauses between looks at a task that is waited for, the first and the longest.
const (
	firstLook   = 50 * time.Millisecond
	longestLook = time.Second
)

func taskStart(e *env.Env) *cobra.Command {
	var start client.TaskStart
	var wait bool
	var class string
	cmd := &cobra.Command{
		Use: "start HANDLER [JSON]", Short: "Start a task by itself, without a program",
		Long: `Start a task by itself, without a program.

TASK is the name of a handler. Its input is JSON: - reads standard input, @FILE a
file; without it the input is null. The task has a thread of its own, and is on
record when the command returns. With --key, starting it again starts nothing.
With --wait the command waits for its end: exit code 1 if it fails.`,
		Example: `  posthouse task start transcribe '{"video": 7}' --group gpu --key video-7
  posthouse task start transcribe @input.json --wait --json | jq .output`,
		RunE: e.Online(func(ctx context.Context, c *client.Client, args []string) (err error) {
			start.Task = args[0]
			if err := start.Effect.UnmarshalJSON([]byte(class)); err != nil {
				return err
			}
			if len(args) == 2 {
				start.Input, err = e.ReadJSON("input", args[1], `text needs quotes of its own: '"like this"'`)
				if err != nil {
					return err
				}
			}
			s, err := c.Operations().StartTask(ctx, &start)
			if err != nil {
				return err
			}
			if wait {
				s, err = await(ctx, c, s)
				if err != nil {
					return err
				}
			}
			if err := e.Answer(s, func() { showStarted(e, s, wait) }); err != nil {
				return err
			}
			if s.Status == posthouse.StatusFailed || wait && s.Status == posthouse.StatusCancelled {
				return env.Exit(posthouse.ExitFailure)
			}
			return nil
		}),
	}
	f := cmd.Flags()
	f.StringVar(&start.Group, "group", "", "of the workers that may take it")
	f.StringVar(&start.Key, "key", "", "names the start, so that it can be sent again safely")
	f.StringVar(&class, "effect", "", "class of what the handler does: pure, read, write or external")
	f.DurationVar(&start.After, "after", 0, "from now until a worker may take it")
	f.DurationVar(&start.Expires, "expires", 0, "from now until it fails if no worker has completed it")
	f.IntVar(&start.Limits.MaxAttempts, "attempts", 0, "how often it is tried (default 3)")
	f.DurationVar(&start.Limits.Timeout, "timeout", 0, "of one attempt")
	f.DurationVar(&start.Limits.InitialDelay, "backoff", 0, "wait before the second attempt (default 1s)")
	f.DurationVar(&start.Limits.MaxDelay, "max-backoff", 0, "wait no longer before any (default 1m0s)")
	f.TextVar(&start.Limits.Backoff, "strategy", posthouse.Exponential, "how --backoff grows: exponential, linear or fixed")
	f.Float64Var(&start.Limits.Jitter, "jitter", 0, "share of each wait, 0 to 1, that is drawn at random and taken off")
	f.BoolVar(&wait, "wait", false, "wait for its end")
	return cmd
}

// await asks where the task stands until it is over.
func await(ctx context.Context, c *client.Client, s *client.TaskStarted) (*client.TaskStarted, error) {
	look := time.NewTimer(firstLook)
	defer look.Stop()
	for pause := firstLook; s.Status == posthouse.StatusWaiting || s.Status == posthouse.StatusReady || s.Status == posthouse.StatusRunning; {
		select {
		case <-look.C:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		now, err := c.Operations().TaskStarted(ctx, s.Thread)
		if err != nil {
			return nil, err
		}
		s = now
		pause = min(2*pause, longestLook)
		look.Reset(pause)
	}
	return s, nil
}

func showStarted(e *env.Env, s *client.TaskStarted, waited bool) {
	switch {
	case s.Status == posthouse.StatusDone:
		e.Line("%s", term.Visible(string(s.Output)))
	case s.Error != "":
		e.Line("thread %s %s: %s", s.Thread, s.Status, term.Visible(s.Error))
		if s.Status == posthouse.StatusFailed {
			e.Next("posthouse task list --failed --thread %s", env.Quoted(s.Thread))
		}
	default:
		e.Line("task %s is %s in thread %s", s.Gate, s.Status, s.Thread)
		if s.Gate != "" && !waited {
			e.Next("posthouse task show %s", s.Gate)
		}
	}
}
