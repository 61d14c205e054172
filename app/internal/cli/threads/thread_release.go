package threads

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/tree"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/retain"
)

func threadRelease(e *env.Env) *cobra.Command {
	var tags []string
	var reason string
	var failed bool
	cmd := &cobra.Command{
		Use: "release THREAD", Short: "Close a thread's generation as a version",
		Long: `Close a thread's generation as a version. Its checkpoints stay readable, and
what is saved under the thread's name next begins anew. Open gates are
cancelled, on record.`,
		Example: `  posthouse thread release order-1234 --tag stable`,
		RunE: e.Online(func(ctx context.Context, c *client.Client, args []string) error {
			body := map[string]any{"tags": tags, "reason": reason, "failed": failed}
			var done struct {
				posthouse.Release
				Error json.RawMessage `json:"error,omitempty"`
			}
			if err := c.Do(ctx, http.MethodPost, client.ThreadPath(args[0], "releases"), nil, body, &done); err != nil {
				return err
			}
			return errors.Join(e.Answer(&done, func() {
				r := &done.Release
				e.Fields("thread", r.Thread, "version", strconv.Itoa(int(r.Version)), "tags", strings.Join(r.Tags, ", "),
					"checkpoints", strconv.Itoa(r.Checkpoints), "last", lastOf(r), "reason", r.Reason, "by", r.By, "released", tree.Time(r.At))
				for _, id := range r.Ended {
					e.Fields("approval ended", string(id))
				}
				e.Next("posthouse log %s --version %d", r.Thread, r.Version)
			}), problemOf(done.Error))
		}),
	}
	f := cmd.Flags()
	f.StringArrayVar(&tags, "tag", nil, "a name for the version; repeat for more")
	env.ReasonFlag(cmd, &reason)
	f.BoolVar(&failed, "failed", false, "say that the work failed")
	return cmd
}

// lastOf names where a version's main branch, or its first, ended.
func lastOf(r *posthouse.Release) string {
	if len(r.Heads) == 0 {
		return ""
	}
	return string(r.Heads[0].Head)
}

var versionTable = env.Table[*posthouse.Release]{
	None: "no versions",
	Head: []string{"VERSION", "TAGS", "CHECKPOINTS", "LAST", "RELEASED", "BY", "", "REASON"},
	Row: func(r *posthouse.Release) []string {
		state := ""
		if r.Failed {
			state = "failed"
		}
		return []string{
			strconv.Itoa(int(r.Version)), strings.Join(r.Tags, ", "), strconv.Itoa(r.Checkpoints), lastOf(r), tree.Time(r.At), r.By, state, r.Reason,
		}
	},
}

func threadVersions(e *env.Env) *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use: "versions THREAD", Short: "List a thread's released versions, newest first",
		Example: `  posthouse thread versions order-1234`,
		RunE: e.Look(func(ctx context.Context, c *client.Client, args []string) error {
			_, err := env.List(ctx, e, c, client.ThreadPath(args[0], "releases"), nil, limit, &versionTable)
			return err
		}),
	}
	e.LimitFlag(cmd, &limit)
	return cmd
}

func threadDrop(e *env.Env) *cobra.Command {
	var reason string
	var yes, dry bool
	cmd := &cobra.Command{
		Use: "drop THREAD VERSION", Short: "Remove all that a released version holds",
		Long:    `Remove all that a released version holds. VERSION is its number or a tag. Its record stays.`,
		Example: `  posthouse thread drop order-1234 3 --reason "kept a year"`,
		RunE: e.Online(func(ctx context.Context, c *client.Client, args []string) error {
			if dry {
				return wouldDrop(ctx, e, c, args[0], args[1])
			}
			if ok, err := e.Confirm(yes, "remove version %s of thread %s?", args[1], args[0]); err != nil || !ok {
				return err
			}
			return env.Ask(ctx, e, c, http.MethodDelete, client.ThreadPath(args[0], "releases", args[1]), env.Params("reason", reason), nil, func(d *retain.Deleted) { showDeleted(&e.Term, d) })
		}),
	}
	env.ReasonFlag(cmd, &reason)
	env.YesFlag(cmd, &yes)
	env.DryRunFlag(cmd, &dry)
	return cmd
}
