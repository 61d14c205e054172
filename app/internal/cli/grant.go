package cli

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/rest"
	"github.com/posthouse/posthouse/app/internal/term"
	"github.com/posthouse/posthouse/app/internal/tree"
	"github.com/posthouse/posthouse/internal/text"
	"github.com/posthouse/posthouse/server"
)

func (a *app) grantCmd() *cobra.Command {
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
		RunE: a.online(func(ctx context.Context, c *rest.Client, args []string) error {
			return get(ctx, a, c, "/api/gates"+rest.Path(args[0], "grant"), nil, a.showGrant)
		}),
	}
}

func (a *app) showGrant(v *server.Grant) {
	g := v.Gate
	status, until := string(v.Status), tree.Time(v.ValidUntil)
	if v.Status == posthouse.GrantUnknown {
		status += ": it began, and no outcome is on record"
	}
	licenses := ""
	switch {
	case v.Licenses > 0:
		licenses = count(v.Licenses, "effect") + ", on branch " + g.Branch
	case g.Decision == nil:
		status, until = "open", ""
	default:
		status, until = "decided; it licenses no effect", ""
	}
	a.Fields("gate", string(g.ID), "asks", question(g), "thread", g.Thread, "branch", g.Branch, "checkpoint", string(g.Checkpoint),
		"requested by", requestersOf(g), "assignees", strings.Join(g.Assignees, ", "), "expires", tree.Time(g.ExpiresAt),
		"licenses", licenses, "status", status, "approval", approval(v.Approval), "valid until", until)
	if g.Note != "" {
		a.Fields("note", term.Clip(term.Visible(g.Note), 200))
	}
	if g.Supersedes != "" {
		a.Line("\nin the place of %s: %s", g.Supersedes, whyAgain(g, v.Before))
		a.showChanged(g, v.Before)
	}
	a.Line("\nshown")
	a.showJSON(shownOf(g.Payload))
	for i := range g.Votes {
		a.Line("%s", tree.Vote(&g.Votes[i]))
	}
	if g.Decision != nil {
		a.Line("\n%s", tree.Decision(g.Decision))
	}
	if g.Decision != nil && g.Decision.Verdict == posthouse.Edit {
		a.Line("\napproved, as edited")
		a.showJSON(shownOf(v.Content))
	}
	for i := range v.Uses {
		u := &v.Uses[i]
		a.Line("\n→ %s  %s, %s", term.Visible(u.Name), tree.UseStatus(&u.Use), tree.Time(u.At))
		a.Fields("execution", u.Task, "class", u.Effect.String(), "entry", strconv.FormatUint(u.Seq, 10))
		for _, line := range tree.Attempts(&u.Use) {
			a.Line("%s", line)
		}
		if u.Outcome != nil {
			a.Line("outcome")
			a.showJSON(u.Outcome)
		}
	}
	warnHidden(&a.Term, append(text.HiddenIn(g.Name, g.Text, g.Note, requestersOf(g)), append(text.HiddenInJSON(g.Payload), text.HiddenInJSON(v.Content)...)...))
	a.afterGrant(v)
}

// afterGrant says what can be done about a gate next.
func (a *app) afterGrant(v *server.Grant) {
	switch d := v.Gate.Decision; {
	case v.AskAgain:
		a.next("posthouse ask-again %s", v.Gate.ID)
	case d == nil:
		a.next("posthouse approve %s", v.Gate.ID)
	case d.Successor != "":
		a.next("posthouse grant %s", d.Successor)
	}
}

func shownOf(v json.RawMessage) json.RawMessage {
	if v == nil {
		return json.RawMessage("(nothing)")
	}
	return v
}

// whyAgain returns why a gate supersedes an earlier one.
func whyAgain(g *posthouse.Gate, b *server.AskedBefore) string {
	if b != nil && b.Changed {
		return "asked again: what is asked has changed"
	}
	return "asked again" + after(": ", term.Clip(term.Visible(g.Note), 200))
}

// showChanged shows how what is asked differs from what was asked before.
func (a *app) showChanged(g *posthouse.Gate, b *server.AskedBefore) {
	if b == nil || !b.Changed {
		return
	}
	tree.Changed(&a.Term, "  ", &tree.Change{From: b.Text, To: g.Text, Paths: b.Paths, More: b.More})
}

// approval says what may still be done under a decision.
func approval(a posthouse.Approval) string {
	switch a {
	case posthouse.ApprovalUsable:
		return "may be used"
	case posthouse.ApprovalLapsed:
		return "has lapsed, and is asked for again"
	case posthouse.ApprovalUsed:
		return "is used"
	case posthouse.ApprovalEnded:
		return "ended with its version or branch"
	}
	return ""
}

// requestersOf says whose request a gate is, and what each of them changed.
func requestersOf(g *posthouse.Gate) string {
	var all []string
	for _, name := range g.RequesterNames() {
		var did []string
		for i := range g.Requesters {
			if r := &g.Requesters[i]; r.Name == name {
				did = append(did, strings.TrimSpace(r.How+" "+strings.Join(r.What, " ")))
			}
		}
		if len(did) > 0 {
			name += " (" + strings.Join(did, "; ") + ")"
		}
		all = append(all, name)
	}
	return strings.Join(all, ", ")
}
