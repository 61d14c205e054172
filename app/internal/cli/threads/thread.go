package threads

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/term"
	"github.com/posthouse/posthouse/app/internal/tree"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/server"
)

// Thread returns the command thread, with those below it that ask a server.
func Thread(e *env.Env) *cobra.Command {
	return env.Parent(&cobra.Command{
		Use:     "thread",
		Aliases: []string{"threads"},
		Short:   "List, show, cancel, release, copy, delete, export and import threads",
		Example: `  posthouse thread list --waiting
  posthouse thread show order-1234`,
	}, threadList(e), threadShow(e), threadUsage(e), threadCancel(e), threadBulk(e), threadRelease(e), threadVersions(e), threadDrop(e),
		threadCopy(e), threadDelete(e), threadHold(e), threadUnhold(e))
}

func threadList(e *env.Env) *cobra.Command {
	var status, graph, order, label, search string
	var node, version, by, since, until string
	var waiting, released, unknown bool
	var limit int
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List threads, the one with the newest entry first",
		Long: `List threads, the one with the newest entry first. With --order asc or desc they come
by name; with --limit 0 all of them. A thread that gets an entry while a long list by
activity is read moves to its front and may be missing; a list by name misses none.

With --unknown it lists those with an effect on the world of an unknown outcome,
with --node those that stand at a node, with --version those on a version of their
program, with --by those that somebody began. For these four the server reads logs, so a
list of many threads takes longer.`,
		Example: `  posthouse thread list
  posthouse thread list --unknown
  posthouse thread list --graph refund --node approve
  posthouse thread list --by alice --since 2026-01-31T12:00:00Z
  posthouse thread list --search acme --label team=blue
  posthouse thread list --order asc --limit 0
  posthouse thread ls --status failed --json`,
		RunE: e.Online(func(ctx context.Context, c *client.Client, _ []string) error {
			q := env.Params("status", status, "graph", graph, "label", label, "q", search, "order", order, "waiting", env.IfSet(waiting), "released", env.IfSet(released),
				"unknown", env.IfSet(unknown), "node", node, "version", version, "by", by, "since", since, "until", until)
			threads, more, err := env.UpTo[*server.Thread](ctx, c, "/api/threads", q, limit)
			if err != nil {
				return err
			}
			if order == "" || order == "newest" { // from page to page they come by the minute
				slices.SortStableFunc(threads, func(x, y *server.Thread) int { return y.UpdatedAt.Compare(x.UpdatedAt) })
			}
			return threadTable.Print(e, threads, more)
		}),
	}
	f := cmd.Flags()
	f.StringVar(&status, "status", "", "only with this status")
	f.StringVar(&graph, "graph", "", "only of this program")
	f.StringVar(&label, "label", "", "only with this label, NAME=VALUE")
	f.StringVar(&search, "search", "", "only where the name or a label's value begins so, or the name ends so (4 characters or more)")
	f.StringVar(&order, "order", "", "asc or desc: by name, the first or the last first (default newest: the newest entry first)")
	f.BoolVar(&waiting, "waiting", false, "only with open gates")
	f.BoolVar(&unknown, "unknown", false, "only with effects on the world of an unknown outcome")
	f.StringVar(&node, "node", "", "only with a branch that has not ended and is at this node: it runs next, waits there, or failed there")
	f.StringVar(&version, "version", "", "only with a branch that has not ended, of this version of its program")
	f.StringVar(&by, "by", "", "only begun by this person or token")
	f.StringVar(&since, "since", "", "only begun then or later, as 2026-01-31T12:00:00Z")
	f.StringVar(&until, "until", "", "only begun before then")
	f.BoolVar(&released, "released", false, "only with released versions, also where nothing was begun since")
	e.LimitFlag(cmd, &limit)
	return cmd
}

var threadTable = env.Table[*server.Thread]{
	None: "no threads",
	Head: []string{"THREAD", "STATUS", "PROGRAM", "COORDINATION", "LABELS", "CHECKPOINTS", "WAITING", "UPDATED", "NOW"},
	Row: func(t *server.Thread) []string {
		return []string{
			t.Thread, string(t.Status), t.Graph, t.Coordination, labelLine(t.Labels), strconv.Itoa(t.Checkpoints), strconv.Itoa(len(t.Waiting)), tree.Time(t.UpdatedAt), nowOf(t),
		}
	},
}

// labelLine returns labels as they are written, sorted.
func labelLine(labels map[string]string) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		all = append(all, name+"="+labels[name])
	}
	return strings.Join(all, " ")
}

// nowOf returns the line of a thread, after how many effects have an unknown outcome.
func nowOf(t *server.Thread) string {
	if t.Unknown == 0 {
		return t.Now
	}
	return strings.TrimSpace(strconv.Itoa(t.Unknown) + " unknown " + t.Now)
}

func threadShow(e *env.Env) *cobra.Command {
	var version string
	cmd := &cobra.Command{
		Use: "show THREAD", Short: "Show a thread's summary and branches",
		Long: `Show a thread's summary and branches. With --version it is the thread as it was
released, by number or tag.`,
		Example: `  posthouse thread show order-1234
  posthouse thread show order-1234 --version 2`,
		RunE: e.Look(func(ctx context.Context, c *client.Client, args []string) error {
			var t server.Thread
			if err := c.Get(ctx, client.ThreadPath(args[0]), env.Params("version", version), &t); err != nil {
				return err
			}
			var head server.Checkpoint
			if b, ok := t.Branch(posthouse.MainBranch); ok {
				err := c.Get(ctx, "/api/checkpoints"+client.Path(string(b.Head)), env.Params("state", "false", "steps", "true"), &head)
				if err != nil && !(version != "" && errors.Is(err, posthouse.ErrNotFound)) { // a version that was dropped
					return err
				}
			}
			if e.Structured() {
				return e.Encode(struct {
					*server.Thread
					Steps []*server.Step `json:"steps,omitempty"` // that led to the head of main
				}{&t, head.Steps})
			}
			showThread(&e.Term, &t)
			showSteps(&e.Term, head.Steps)
			if version != "" {
				e.Next("posthouse log %s --version %d", t.Thread, t.Generation)
				return nil
			}
			return showFailures(ctx, e, c, &t)
		}),
	}
	cmd.Flags().StringVar(&version, "version", "", "a released version's number or tag")
	return cmd
}

func showThread(out *term.Term, t *server.Thread) {
	versions := ""
	if t.Releases > 0 {
		versions = strconv.Itoa(t.Releases) + " released; this is generation " + strconv.Itoa(int(t.Generation))
	}
	if r := t.Release; r != nil {
		versions = "this is version " + strconv.Itoa(int(r.Version)) + ", released " + tree.Time(r.At) + " by " + cmp.Or(r.By, "posthouse") + after(": ", r.Reason)
	}
	signed := ""
	if t.Signed > 0 {
		signed = "entry " + strconv.FormatUint(t.Signed, 10)
	}
	out.Fields(
		"thread", t.Thread, "status", string(t.Status), "program", t.Graph, "coordination", t.Coordination, "labels", labelLine(t.Labels), "now", nowOf(t),
		"versions", versions, "checkpoints", strconv.Itoa(t.Checkpoints), "entries", strconv.FormatUint(t.Tail.Seq, 10),
		"last hash", t.Tail.Hash.String(), "signed up to", signed, "since", tree.Time(t.CreatedAt), "updated", tree.Time(t.UpdatedAt),
	)
	var rows [][]string
	for _, b := range t.Branches {
		rows = append(rows, []string{b.Branch, string(b.Head), string(b.Status)})
	}
	out.Line("")
	out.Table([]string{"BRANCH", "HEAD", "STATUS"}, rows)
	if h := t.Held; h != nil {
		out.Line("under legal hold by %s since %s", h.By, tree.Time(h.Since))
	}
	for _, w := range t.Waiting {
		out.Line("waits at %s", w.ID)
	}
}

// showFailures prints why branches of a thread failed, and what to type next.
func showFailures(ctx context.Context, e *env.Env, c *client.Client, t *server.Thread) error {
	for _, b := range t.Branches {
		if b.Status != posthouse.StatusFailed {
			continue
		}
		var h posthouse.Header
		if err := c.Get(ctx, "/api/checkpoints"+client.Path(string(b.Head)), env.Params("state", "false"), &h); err != nil {
			return err
		}
		e.Line("%s failed: %s", b.Branch, h.Error)
	}
	e.Next("posthouse log %s", t.Thread)
	return nil
}

func threadCopy(e *env.Env) *cobra.Command {
	var version uint32
	cmd := &cobra.Command{
		Use: "copy THREAD NEW", Aliases: []string{"cp"}, Short: "Copy a thread with its whole history",
		Long: `Copy a thread with its whole history into a new one. Each checkpoint gets a new
id and names its original. Questions that wait are asked again; nothing runs
until it is resumed.`,
		Example: `  posthouse thread copy order-1234 order-1234-test
  posthouse thread copy order-1234 from-version-2 --version 2`,
		RunE: e.Online(func(ctx context.Context, c *client.Client, args []string) error {
			body := map[string]any{"thread": args[1], "version": version}
			return env.Ask(ctx, e, c, http.MethodPost, client.ThreadPath(args[0], "copy"), nil, body, func(t *server.Thread) { showThread(&e.Term, t) })
		}),
	}
	cmd.Flags().Uint32Var(&version, "version", 0, "copy this released version instead of what is current")
	return cmd
}

func threadDelete(e *env.Env) *cobra.Command {
	var reason string
	var yes, dry bool
	cmd := &cobra.Command{
		Use: "delete THREAD", Aliases: []string{"rm"}, Short: "Delete a thread with its whole history",
		Example: `  posthouse thread delete order-1234 --reason "asked by the customer"`,
		RunE: e.Online(func(ctx context.Context, c *client.Client, args []string) error {
			if dry {
				return wouldDelete(ctx, e, c, args[0])
			}
			if ok, err := e.Confirm(yes, "delete thread %s with its whole history?", args[0]); err != nil || !ok {
				return err
			}
			var d struct {
				retain.Deleted
				Error json.RawMessage `json:"error,omitempty"`
			}
			if err := c.Do(ctx, http.MethodDelete, client.ThreadPath(args[0]), env.Params("reason", reason), nil, &d); err != nil {
				return err
			}
			return errors.Join(e.Answer(d, func() { showDeleted(&e.Term, &d.Deleted) }), problemOf(d.Error))
		}),
	}
	env.ReasonFlag(cmd, &reason)
	env.YesFlag(cmd, &yes)
	env.DryRunFlag(cmd, &dry)
	return cmd
}

func showDeleted(out *term.Term, d *retain.Deleted) {
	out.Line("deleted: checkpoints %d, gates %d, bodies %d, %s", d.Checkpoints, d.Gates, d.Bodies, term.Size(d.Bytes))
	if d.Kept > 0 {
		out.Line("kept: bodies %d that other checkpoints are rebuilt from", d.Kept)
	}
}
