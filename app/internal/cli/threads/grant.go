package threads

import (
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/term"
	"github.com/posthouse/posthouse/app/internal/tree"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/grants"
	"github.com/posthouse/posthouse/internal/base/text"
	"github.com/posthouse/posthouse/server"
)

// Grant returns the command grant.
func Grant(e *env.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "grant GATE",
		Short: "Show a gate, who decided it, and what ran under the decision",
		Long: `Show a gate, who decided it, and what ran under the decision.

An approval of what a program proposes (gate.Propose) licenses so many effects, on
the branch where it was given. It is proposed while it waits, decided once
somebody answered, released while an effect runs, executed once its result is on
record, and unknown where a crash left open whether it happened.`,
		Example: `  posthouse grant gate-019a...
  posthouse grant gate-019a... --json | jq .uses`,
		RunE: e.Online(func(ctx context.Context, c *client.Client, args []string) error {
			return env.Get(ctx, e, c, "/api/gates"+client.Path(args[0], "grant"), nil, func(g *server.Grant) { showGrant(e, g) })
		}),
	}
}

func showGrant(e *env.Env, v *server.Grant) {
	g := v.Gate
	status, until := string(v.Status), tree.Time(v.ValidUntil)
	if v.Status == grants.Unknown {
		status += ": it began, and no outcome is on record"
	}
	licenses := ""
	switch {
	case v.Licenses > 0:
		licenses = term.Count(v.Licenses, "effect") + ", on branch " + g.Branch
	case g.Decision == nil:
		status, until = "open", ""
	default:
		status, until = "decided; it licenses no effect", ""
	}
	e.Fields("gate", string(g.ID), "asks", term.Clip(term.Visible(headline(g)), 200), "thread", g.Thread, "branch", g.Branch, "checkpoint", string(g.Checkpoint),
		"requested by", requestersOf(g), "assignees", strings.Join(g.Assignees, ", "), "expires", tree.Time(g.ExpiresAt),
		"licenses", licenses, "status", status, "approval", approval(v.Approval), "valid until", until)
	if g.Note != "" {
		e.Fields("note", term.Clip(term.Visible(g.Note), 200))
	}
	if g.Supersedes != "" {
		e.Line("\nin the place of %s: %s", g.Supersedes, whyAgain(g, v.Before))
		showChanged(&e.Term, g, v.Before)
	}
	e.Line("\nshown")
	e.QuoteJSON(shownOf(g.Payload))
	for i := range g.Votes {
		e.Line("%s", tree.Vote(&g.Votes[i]))
	}
	if g.Decision != nil {
		e.Line("\n%s", decidedSo(g.Decision, v.Why))
	}
	if g.Decision != nil && g.Decision.Verdict == posthouse.Edit {
		e.Line("\napproved, as edited")
		e.QuoteJSON(shownOf(v.Content))
	}
	for i := range v.Uses {
		u := &v.Uses[i]
		e.Line("\n→ %s  %s, %s", term.Visible(u.Name), tree.UseStatus(&u.Use), tree.Time(u.At))
		e.Fields("execution", u.Task, "class", u.Effect.String(), "entry", strconv.FormatUint(u.Seq, 10))
		for _, line := range tree.Attempts(&u.Use) {
			e.Line("%s", line)
		}
		if u.Outcome != nil {
			e.Line("outcome")
			e.QuoteJSON(u.Outcome)
		}
	}
	var marks text.Marks
	marks.Add(g.Name, g.Text, g.Note, requestersOf(g))
	marks.AddJSON(g.Payload)
	marks.AddJSON(v.Content)
	warn(&e.Term, &marks)
	afterGrant(e, v)
}

// afterGrant says what can be done about a gate next.
func afterGrant(e *env.Env, v *server.Grant) {
	switch d := v.Gate.Decision; {
	case v.AskAgain:
		e.Next("posthouse ask-again %s", v.Gate.ID)
	case d == nil:
		nextAnswer(e, v.Gate)
	case d.Successor != "":
		e.Next("posthouse grant %s", d.Successor)
	}
}

// approval says what may still be done under a decision.
func approval(a grants.Approval) string {
	switch a {
	case grants.ApprovalUsable:
		return "may be used"
	case grants.ApprovalLapsed:
		return "has lapsed, and is asked for again"
	case grants.ApprovalUsed:
		return "is used"
	case grants.ApprovalEnded:
		return "ended with its version or branch"
	}
	return ""
}
