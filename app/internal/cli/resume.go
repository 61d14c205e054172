package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/rest"
)

func (a *app) resumeCmd() *cobra.Command {
	var branch string
	cmd := &cobra.Command{
		Use:   "resume THREAD|CHECKPOINT|GATE",
		Short: "Make a branch that was interrupted or failed go on",
		Long: `Make a branch that was interrupted or failed go on.

Give a thread (its branch main unless --branch names another), the checkpoint at
the head of a branch, or a gate that it asked. Recorded steps are not run again.
Exit code 1 if it fails again.`,
		Example: `  posthouse resume 019a...
  posthouse resume order-1234 --branch what-if`,
		RunE: a.online(func(ctx context.Context, c *rest.Client, args []string) error {
			id, err := headOf(ctx, c, args[0], branch)
			if err != nil {
				return err
			}
			return a.start(ctx, c, startPath(id, "resume"), nil)
		}),
	}
	branchFlag(cmd, &branch)
	return cmd
}

// startPath returns the path of a verb on a checkpoint, given its id or a gate's.
func startPath(id, verb string) string {
	if strings.HasPrefix(id, "gate-") {
		return "/api/gates" + rest.Path(id, verb)
	}
	return "/api/checkpoints" + rest.Path(id, verb)
}

// headOf returns the head of a thread's branch. An id that is not a thread's is
// returned as it is, for a checkpoint's or a gate's.
func headOf(ctx context.Context, c *rest.Client, id, branch string) (string, error) {
	var t posthouse.ThreadInfo
	err := c.Get(ctx, rest.Thread(id), nil, &t)
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
