package cli

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/rest"
	"github.com/posthouse/posthouse/app/internal/term"
	"github.com/posthouse/posthouse/app/internal/tree"
	"github.com/posthouse/posthouse/server"
	"github.com/posthouse/posthouse/server/problem"
)

func (a *app) inboxCmd() *cobra.Command {
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
		RunE: a.online(func(ctx context.Context, c *rest.Client, _ []string) error {
			var gates []*server.Gate
			var err error
			more := false
			switch filters := params("coordination", coordination, "thread", thread, "assignee", assignee); {
			case !session:
				gates, more, err = upTo[*server.Gate](ctx, c, "/api/gates", filters, limit)
			case len(filters) > 0:
				err = &posthouse.Error{Code: posthouse.CodeInvalid, Field: "session", Message: "lists all approvals, without --coordination, --thread and --assignee"}
			default:
				err = c.Do(ctx, http.MethodGet, "/api/approvals", nil, nil, &gates)
			}
			if err != nil {
				return err
			}
			if err := a.answer(gates, func() { a.showInbox(gates, more) }); err != nil {
				return err
			}
			return unreadIn(a, gates, func(g *server.Gate) *problem.Details { return g.Error })
		}),
	}
	f := cmd.Flags()
	f.StringVar(&coordination, "coordination", "", "only of this coordination")
	f.StringVar(&thread, "thread", "", "only of this thread")
	f.StringVar(&assignee, "assignee", "", "only what this person may decide")
	limitFlag(cmd, &limit)
	f.BoolVar(&session, "session", false, "the approvals that callers wait for on their connections instead, the oldest first")
	return cmd
}

// unreadIn returns exit code 8, and says where to look, if an item of a list cannot be
// read.
func unreadIn[T any](a *app, items []T, problem func(T) *problem.Details) error {
	for _, item := range items {
		if p := problem(item); p != nil {
			a.Note("what cannot be read waits on: %s", p.Hint)
			return &exitError{posthouse.ExitCorrupt}
		}
	}
	return nil
}

func cannotBeRead(p *problem.Details) string {
	return term.Clip(term.Visible("cannot be read: "+p.Detail), 60)
}

func (a *app) showInbox(gates []*server.Gate, more bool) {
	if len(gates) == 0 {
		a.Line("nothing waits")
		return
	}
	var rows [][]string
	var again []*server.Gate
	next := posthouse.ID("")
	for _, g := range gates {
		q := term.Clip(term.Visible(question(&g.Gate)), 60)
		switch {
		case g.Error != nil:
			q = cannotBeRead(g.Error)
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
	a.Table([]string{"GATE", "QUESTION", "REQUESTED BY", "SINCE", "EXPIRES", "THREAD"}, rows)
	a.more(more)
	for _, g := range again {
		a.Line("\n%s asks in the place of %s: %s", g.ID, g.Supersedes, whyAgain(&g.Gate, g.Before))
		a.showChanged(&g.Gate, g.Before)
	}
	if next != "" {
		a.next("posthouse approve %s", next)
	}
}

// votes returns how many votes of a quorum there are.
func votes(g *posthouse.Gate) string {
	if g.Quorum == nil {
		return ""
	}
	return fmt.Sprintf(" (%d of %d)", g.Quorum.Need-g.Missing(), g.Quorum.Need)
}

func question(g *posthouse.Gate) string {
	if g.Text == "" {
		return g.Name
	}
	return g.Name + ": " + g.Text
}
