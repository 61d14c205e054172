package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/rest"
	"github.com/posthouse/posthouse/app/internal/term"
	"github.com/posthouse/posthouse/app/internal/tree"
	"github.com/posthouse/posthouse/internal/text"
	"github.com/posthouse/posthouse/server"
)

func (a *app) gateCmd() *cobra.Command {
	return parent(&cobra.Command{
		Use: "gate", Aliases: []string{"gates"}, Short: "Show a gate before it is decided",
		Example: `  posthouse gate show gate-019a...`,
	}, a.gateShow())
}

func (a *app) gateShow() *cobra.Command {
	return &cobra.Command{
		Use: "show GATE", Short: "Show what a gate asks: its text and its content",
		Long: `Show what a gate asks: its text and its content, as an approval licenses it.

GATE is a gate's id, or that of an approval (apr_...) that a tool waits for on its
caller's connection. A character that people do not see, or that reorders what they
see, is shown as ‹U+202E› in text and as \u202e in JSON, and a line warns of it. What
ran under a decision is shown by posthouse grant.`,
		Example: `  posthouse gate show gate-019a...
  posthouse gate show gate-019a... --json | jq .payload`,
		RunE: a.online(func(ctx context.Context, c *rest.Client, args []string) error {
			q, err := readQuestion(ctx, c, args[0])
			if err != nil {
				return err
			}
			return a.answer(&q.gate, func() {
				q.show(&a.Term)
				switch {
				case q.gate.Decision != nil:
					a.Line("\n%s", tree.Decision(q.gate.Decision))
					a.next("posthouse grant %s", q.gate.ID)
				case q.gate.AsksPeople() || isApproval(string(q.gate.ID)):
					a.next("posthouse approve %s", q.gate.ID)
				}
			})
		}),
	}
}

// isApproval reports whether an id is that of an approval in a session.
func isApproval(id string) bool { return strings.HasPrefix(id, "apr_") }

// An asked is a gate as a person looks at it before the decision.
type asked struct {
	gate   posthouse.Gate
	before *server.AskedBefore
}

// readQuestion reads a gate, or an approval that waits in a session.
func readQuestion(ctx context.Context, c *rest.Client, id string) (*asked, error) {
	if !isApproval(id) {
		var v server.Grant
		if err := c.Get(ctx, "/api/gates"+rest.Path(id, "grant"), nil, &v); err != nil {
			return nil, err
		}
		return &asked{*v.Gate, v.Before}, nil
	}
	var open []*server.Gate
	if err := c.Do(ctx, http.MethodGet, "/api/approvals", nil, nil, &open); err != nil {
		return nil, err
	}
	for _, g := range open {
		if string(g.ID) == id {
			return &asked{g.Gate, g.Before}, nil
		}
	}
	return nil, &posthouse.Error{
		Code: posthouse.CodeNotFound, Message: "there is no approval that waits: " + id, Hint: "it was answered, ran out, or its connection closed",
	}
}

// show prints what is asked, who asks it of whom, and what is hidden in it.
func (q *asked) show(t *term.Term) {
	g := &q.gate
	var verdicts []string
	for _, v := range g.Verdicts {
		verdicts = append(verdicts, string(v))
	}
	t.Fields("gate", string(g.ID), "asks", g.Name, "requested by", requestersOf(g), "assignees", strings.Join(g.Assignees, ", "), "verdicts", strings.Join(verdicts, ", "),
		"thread", g.Thread, "branch", g.Branch, "checkpoint", string(g.Checkpoint), "asked", tree.Time(g.CreatedAt), "expires", tree.Time(g.ExpiresAt), "note", g.Note)
	if g.Text != "" {
		fmt.Fprintf(t.Out, "\n%s\n", term.VisibleText(g.Text))
	}
	t.Line("\ncontent")
	showJSONOn(t, shownOf(g.Payload))
	if b := q.before; b != nil {
		t.Line("\nin the place of %s: %s", g.Supersedes, whyAgain(g, b))
		if b.Changed {
			tree.Changed(t, "  ", &tree.Change{From: b.Text, To: g.Text, Paths: b.Paths, More: b.More})
		}
	}
	for i := range g.Assignments {
		t.Line("%s", tree.Assignment(&g.Assignments[i]))
	}
	for i := range g.Votes {
		t.Line("%s", tree.Vote(&g.Votes[i]))
	}
	warnHidden(t, append(text.HiddenIn(append([]string{g.Name, g.Text, g.Note, requestersOf(g)}, g.Assignees...)...), text.HiddenInJSON(g.Payload)...))
}

// warnHidden prints a line if there are hidden characters.
func warnHidden(t *term.Term, marks []string) {
	if len(marks) == 0 {
		return
	}
	var once []string
	for _, m := range marks {
		if !strings.Contains(strings.Join(once, " "), m) {
			once = append(once, m)
		}
	}
	t.Line("\n%s", t.Paint(term.Bad, "warning: characters that are not seen stand here: "+strings.Join(once, " ")+"; they can make one text look like another"))
}

// showJSONOn prints JSON, indented, with nothing hidden in it.
func showJSONOn(t *term.Term, raw json.RawMessage) {
	(&app{Term: *t}).showJSON(raw)
}

// confirmDecision shows a person what a decision is about, and asks for it. What was
// already decided, or is not one question, is not asked: the server says so at once.
func (a *app) confirmDecision(ctx context.Context, c *rest.Client, id string, d *deciding) (bool, error) {
	errTerm := a.Term
	errTerm.Out = a.Err
	if given := append(text.HiddenIn(d.reason, d.by), text.HiddenInJSON(d.sends)...); len(given) > 0 {
		warnHidden(&errTerm, given)
	}
	if d.yes || !a.Interactive {
		return true, nil
	}
	q, err := a.question(ctx, c, id)
	if err != nil || q == nil {
		return err == nil, err
	}
	q.show(&errTerm)
	if d.sends != nil {
		errTerm.Line("\n%s with", d.verb)
		showJSONOn(&errTerm, d.sends)
	}
	if d.shown == "" && !isApproval(id) {
		d.shown = q.gate.Hash.String() // what was shown is what is decided
	}
	ok, err := a.Confirm(false, "\n%s %s?", d.verb, term.Clip(term.Visible(strings.TrimRight(question(&q.gate), "?. ")), 80))
	if err == nil && !ok {
		a.Note("nothing was decided")
	}
	return ok, err
}

// question returns the one open gate that an id names, nil if there is none or several.
func (a *app) question(ctx context.Context, c *rest.Client, id string) (*asked, error) {
	if strings.HasPrefix(id, "gate-") || isApproval(id) {
		q, err := readQuestion(ctx, c, id)
		if err != nil || q.gate.Decision != nil {
			return nil, err
		}
		return q, nil
	}
	var cp server.Checkpoint
	if err := c.Get(ctx, "/api/checkpoints"+rest.Path(id), params("state", "false"), &cp); err != nil {
		return nil, err
	}
	var one *asked
	for _, id := range cp.Gates {
		q, err := readQuestion(ctx, c, string(id))
		switch {
		case err != nil:
			return nil, err
		case q.gate.Decision != nil || !q.gate.AsksPeople():
		case one != nil:
			return nil, nil
		default:
			one = q
		}
	}
	return one, nil
}
