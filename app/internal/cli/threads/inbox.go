package threads

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/term"
	"github.com/posthouse/posthouse/app/internal/tree"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/server"
	"github.com/posthouse/posthouse/server/problem"
)

// inboxFilters are the flags of inbox that say what it lists.
type inboxFilters struct {
	coordination, thread, assignee, state, question, program, label, assigned, decider, requester, search, order, snoozed string
}

func (f *inboxFilters) flags(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.coordination, "coordination", "", "only of this coordination")
	fs.StringVar(&f.thread, "thread", "", "only of this thread")
	fs.StringVar(&f.assignee, "assignee", "", "only what this person may decide; me is the token's owner")
	fs.StringVar(&f.assigned, "assigned", "", "only what is assigned to this person by name; me is the token's owner")
	fs.StringVar(&f.state, "state", "", "open, decided, expired or withdrawn; open unless given")
	fs.StringVar(&f.question, "question", "", "only questions of this name")
	fs.StringVar(&f.program, "program", "", "only what this program asks")
	fs.StringVar(&f.label, "label", "", "only questions with this label, name=value")
	fs.StringVar(&f.decider, "decider", "", "only what this person decided or voted on; me is the token's owner")
	fs.StringVar(&f.requester, "requester", "", "only what this person made, or changed; me is the token's owner")
	fs.StringVar(&f.search, "search", "", "only questions with this text in them, their content, labels or thread")
	fs.StringVar(&f.order, "order", "", "of open questions: desc is newest first, asc is oldest first, deadline the earliest first")
	fs.StringVar(&f.snoozed, "snoozed", "", "what the assignee hid for now: hidden, shown or only; hidden unless given")
	env.Choices(cmd, "snoozed", []string{"hidden", "shown", "only"})
	env.Choices(cmd, "state", []string{"open", "decided", "expired", "withdrawn"})
	env.Choices(cmd, "order", []string{"desc", "asc", "deadline"})
}

// check refuses a person without a name: an empty variable of a script is not to list what everybody is asked.
func (f *inboxFilters) check(given *pflag.FlagSet) error {
	for name, value := range map[string]string{"assignee": f.assignee, "assigned": f.assigned, "decider": f.decider, "requester": f.requester} {
		if value == "" && given.Changed(name) {
			return &posthouse.Error{Code: posthouse.CodeInvalid, Field: name, Message: "names no person", Hint: "name one, or leave the flag out to list what everybody is asked"}
		}
	}
	return nil
}

func (f *inboxFilters) query() url.Values {
	return env.Params("coordination", f.coordination, "thread", f.thread, "assignee", f.assignee, "state", f.state, "question", f.question,
		"program", f.program, "label", f.label, "assigned", f.assigned, "decider", f.decider, "requester", f.requester, "q", f.search, "order", f.order, "snoozed", f.snoozed)
}

// Inbox returns the command inbox.
func Inbox(e *env.Env) *cobra.Command {
	var filters inboxFilters
	var limit int
	var session bool
	cmd := &cobra.Command{
		Use:   "inbox",
		Short: "List what waits for a decision, newest first",
		Long: `List what waits for a decision, newest first.

With --state it lists what became of other questions, the newest decision first.`,
		Example: `  posthouse inbox
  posthouse inbox --assignee me --order deadline
  posthouse inbox --state decided --decider alice
  posthouse inbox --session
  posthouse inbox --quiet`,
	}
	cmd.RunE = e.Online(func(ctx context.Context, c *client.Client, _ []string) error {
		var gates []*server.Gate
		var err error
		more := false
		if err := filters.check(cmd.Flags()); err != nil {
			return err
		}
		filters.thread, err = e.FindThread(ctx, c, filters.thread)
		if err != nil {
			return err
		}
		switch q := filters.query(); {
		case !session:
			gates, more, err = env.UpTo[*server.Gate](ctx, c, "/api/gates", q, limit)
		case len(q) > 0:
			err = &posthouse.Error{Code: posthouse.CodeInvalid, Field: "session", Message: "lists all approvals: only --limit goes with it"}
		default:
			err = c.Do(ctx, http.MethodGet, "/api/approvals", nil, nil, &gates)
		}
		if err != nil {
			return err
		}
		if e.Quiet {
			err = openGates.Print(e, gates, more)
		} else {
			err = e.Answer(gates, func() { showInbox(e, gates, filters.state != "" && filters.state != "open", more) })
		}
		if err != nil {
			return err
		}
		return env.Unread(&e.Term, gates, func(g *server.Gate) *problem.Details { return g.Error })
	})
	filters.flags(cmd)
	e.LimitFlag(cmd, &limit)
	cmd.Flags().BoolVar(&session, "session", false, "the approvals that callers wait for on their connections instead, the oldest first")
	return cmd
}

// openGates is for --quiet; showInbox says more than rows.
var openGates = env.Table[*server.Gate]{ID: func(g *server.Gate) string { return string(g.ID) }}

func showInbox(e *env.Env, gates []*server.Gate, filtered, more bool) {
	if len(gates) == 0 && filtered {
		e.Line("there is none of these")
		return
	}
	if len(gates) == 0 {
		e.Line("nothing waits")
		return
	}
	if gates[0].Decision != nil {
		showDecided(e, gates, more)
		return
	}
	var rows [][]string
	var again []*server.Gate
	var next *server.Gate
	for _, g := range gates {
		q := asks(g)
		if g.Error == nil && next == nil {
			next = g
		}
		if g.Supersedes != "" && g.Error == nil {
			again = append(again, g)
		}
		rows = append(rows, []string{
			string(g.ID), q + licenses(g) + votes(&g.Gate) + inPlaceOf(g), strings.Join(g.RequesterNames(), ", "), tree.Time(g.CreatedAt), tree.Time(g.ExpiresAt), g.Thread,
		})
	}
	e.Table([]string{"GATE", "QUESTION", "REQUESTED BY", "SINCE", "EXPIRES", "THREAD"}, rows)
	env.More(&e.Term, more)
	for _, g := range again {
		e.Line("\n%s asks in the place of %s: %s", g.ID, g.Supersedes, whyAgain(&g.Gate, g.Before))
		showChanged(&e.Term, &g.Gate, g.Before)
	}
	if next != nil {
		nextAnswer(e, &next.Gate)
	}
}

// showDecided prints questions that are not open any more.
func showDecided(e *env.Env, gates []*server.Gate, more bool) {
	var rows [][]string
	for _, g := range gates {
		q, verdict, by, at := term.Clip(term.Visible(headline(&g.Gate)), 60), "", "", ""
		if g.Error != nil {
			q = env.CannotBeRead(g.Error)
		}
		if d := g.Decision; d != nil {
			verdict, by, at = string(d.Verdict), d.By, tree.Time(d.At)
		}
		rows = append(rows, []string{string(g.ID), q, verdict, by, at, g.Thread})
	}
	e.Table([]string{"GATE", "QUESTION", "VERDICT", "BY", "AT", "THREAD"}, rows)
	env.More(&e.Term, more)
}

// inPlaceOf says for whom the caller would decide a gate, as their substitute.
func inPlaceOf(g *server.Gate) string {
	if g.For == "" {
		return ""
	}
	return " (for " + term.Visible(g.For) + ")"
}

// licenses says how much an approval licenses, where that is more than one effect or ends.
func licenses(g *server.Gate) string {
	if g.Error != nil || g.Uses <= 1 && g.ValidFor == 0 {
		return ""
	}
	for _, t := range gate.Terms(&g.Gate) {
		if t.Label == "Licenses" {
			return " (" + t.Value + ")"
		}
	}
	return ""
}

// votes returns how many votes of a quorum there are.
func votes(g *posthouse.Gate) string {
	if g.Quorum == nil {
		return ""
	}
	return fmt.Sprintf(" (%d of %d)", g.Quorum.Need-g.Missing(), g.Quorum.Need)
}
