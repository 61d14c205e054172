package threads

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/rest"
	"github.com/posthouse/posthouse/app/internal/term"
	"github.com/posthouse/posthouse/app/internal/tree"
	"github.com/posthouse/posthouse/server"
	"github.com/posthouse/posthouse/server/problem"
)

// Inbox returns the command inbox.
func Inbox(e *env.Env) *cobra.Command {
	var coordination, thread, assignee string
	var limit int
	var session bool
	cmd := &cobra.Command{
		Use:   "inbox",
		Short: "List what waits for a decision, newest first",
		Example: `  posthouse inbox
  posthouse inbox --assignee alice
  posthouse inbox --session
  posthouse inbox --json | jq -r '.[].id'`,
		RunE: e.Online(func(ctx context.Context, c *rest.Client, _ []string) error {
			var gates []*server.Gate
			var err error
			more := false
			switch filters := env.Params("coordination", coordination, "thread", thread, "assignee", assignee); {
			case !session:
				gates, more, err = env.UpTo[*server.Gate](ctx, c, "/api/gates", filters, limit)
			case len(filters) > 0:
				err = &posthouse.Error{Code: posthouse.CodeInvalid, Field: "session", Message: "lists all approvals, without --coordination, --thread and --assignee"}
			default:
				err = c.Do(ctx, http.MethodGet, "/api/approvals", nil, nil, &gates)
			}
			if err != nil {
				return err
			}
			if err := e.Answer(gates, func() { showInbox(e, gates, more) }); err != nil {
				return err
			}
			return env.Unread(&e.Term, gates, func(g *server.Gate) *problem.Details { return g.Error })
		}),
	}
	f := cmd.Flags()
	f.StringVar(&coordination, "coordination", "", "only of this coordination")
	f.StringVar(&thread, "thread", "", "only of this thread")
	f.StringVar(&assignee, "assignee", "", "only what this person may decide")
	env.LimitFlag(cmd, &limit)
	f.BoolVar(&session, "session", false, "the approvals that callers wait for on their connections instead, the oldest first")
	return cmd
}

func showInbox(e *env.Env, gates []*server.Gate, more bool) {
	if len(gates) == 0 {
		e.Line("nothing waits")
		return
	}
	var rows [][]string
	var again []*server.Gate
	next := posthouse.ID("")
	for _, g := range gates {
		q := term.Clip(term.Visible(headline(&g.Gate)), 60)
		switch {
		case g.Error != nil:
			q = env.CannotBeRead(g.Error)
		case next == "":
			next = g.ID
		}
		if g.Supersedes != "" && g.Error == nil {
			again = append(again, g)
		}
		rows = append(rows, []string{
			string(g.ID), q + votes(&g.Gate), strings.Join(g.RequesterNames(), ", "), tree.Time(g.CreatedAt), tree.Time(g.ExpiresAt), g.Thread,
		})
	}
	e.Table([]string{"GATE", "QUESTION", "REQUESTED BY", "SINCE", "EXPIRES", "THREAD"}, rows)
	env.More(&e.Term, more)
	for _, g := range again {
		e.Line("\n%s asks in the place of %s: %s", g.ID, g.Supersedes, whyAgain(&g.Gate, g.Before))
		showChanged(&e.Term, &g.Gate, g.Before)
	}
	if next != "" {
		e.Next("posthouse approve %s", next)
	}
}

// votes returns how many votes of a quorum there are.
func votes(g *posthouse.Gate) string {
	if g.Quorum == nil {
		return ""
	}
	return fmt.Sprintf(" (%d of %d)", g.Quorum.Need-g.Missing(), g.Quorum.Need)
}
