package threads

import (
	"context"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/term"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/server/problem"
)

// A bulkItem is what became of one thread.
type bulkItem struct {
	Thread   string           `json:"thread"`
	Status   posthouse.Status `json:"status"`
	Branches []string         `json:"branches"`
	Problem  *problem.Details `json:"problem,omitempty"`
}

// A bulkReport is what became of many threads.
type bulkReport struct {
	DryRun bool       `json:"dryRun,omitempty"`
	Done   int        `json:"done"`
	Failed int        `json:"failed"`
	Items  []bulkItem `json:"items"`
	Next   string     `json:"next,omitempty"`
}

// A bulk is the flags of one command about many threads.
type bulk struct {
	verb, done                      string
	status, program, prefix, reason string
	dry, yes                        bool
}

// threadBulk returns the command thread bulk, with those below it.
func threadBulk(e *env.Env) *cobra.Command {
	return env.Parent(&cobra.Command{
		Use: "bulk", Short: "Resume, cancel or release all threads of a filter",
		Example: `  posthouse thread bulk resume --status failed --program refund --dry-run
  posthouse thread bulk cancel --prefix tenant/42/ --reason "the tenant has left"`,
	},
		bulkCommand(e, &bulk{verb: "resume", done: "resumed"}, "Resume threads that are interrupted or failed"),
		bulkCommand(e, &bulk{verb: "cancel", done: "cancelled"}, "Cancel threads that have not ended"),
		bulkCommand(e, &bulk{verb: "release", done: "released"}, "Close threads as versions"))
}

func bulkCommand(e *env.Env, b *bulk, short string) *cobra.Command {
	cmd := &cobra.Command{
		Use: b.verb, Short: short,
		Long: short + `.

At least one of --status, --program and --prefix says which. A failure about one
thread is reported and stops no other.`,
		Example: "  posthouse thread bulk " + b.verb + " --prefix order- --dry-run",
		RunE:    e.Online(func(ctx context.Context, c *client.Client, _ []string) error { return b.run(ctx, e, c) }),
	}
	f := cmd.Flags()
	f.StringVar(&b.status, "status", "", "only threads with this status")
	f.StringVar(&b.program, "program", "", "only threads of this program")
	f.StringVar(&b.prefix, "prefix", "", "only threads with a name that starts so")
	if b.verb != "resume" {
		env.ReasonFlag(cmd, &b.reason)
	}
	env.DryRunFlag(cmd, &b.dry)
	env.YesFlag(cmd, &b.yes)
	return cmd
}

func (b *bulk) run(ctx context.Context, e *env.Env, c *client.Client) error {
	if !b.dry {
		if ok, err := e.Confirm(b.yes, "%s all threads of this filter?", b.verb); err != nil || !ok {
			return err
		}
	}
	all := bulkReport{DryRun: b.dry, Items: []bulkItem{}}
	for after := ""; ; {
		body := env.Members("status", b.status, "program", b.program, "prefix", b.prefix, "reason", b.reason, "after", after)
		if b.dry {
			body["dryRun"] = true
		}
		var page bulkReport
		if err := c.Do(ctx, http.MethodPost, "/api/bulk/"+b.verb, nil, body, &page); err != nil {
			return err
		}
		all.Done, all.Failed, all.Items = all.Done+page.Done, all.Failed+page.Failed, append(all.Items, page.Items...)
		after = page.Next
		if after == "" {
			break
		}
	}
	err := e.Answer(all, func() { b.show(e, &all) })
	if err == nil && all.Failed > 0 {
		return env.Exit(posthouse.ExitFailure)
	}
	return err
}

func (b *bulk) show(e *env.Env, r *bulkReport) {
	var rows [][]string
	for _, item := range r.Items {
		became := strings.Join(item.Branches, ", ")
		if item.Problem != nil {
			became = item.Problem.Detail
		} else if became == "" {
			became = "nothing to do"
		}
		rows = append(rows, []string{item.Thread, string(item.Status), became})
	}
	e.Table([]string{"THREAD", "STATUS", "BRANCHES"}, rows)
	if r.DryRun {
		e.Line("%s would be %s: leave --dry-run out", term.Count(r.Done, "thread"), b.done)
		return
	}
	e.Line("%s %s, %d failed", term.Count(r.Done, "thread"), b.done, r.Failed)
}
