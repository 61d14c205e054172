package threads

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/term"
	"github.com/posthouse/posthouse/app/internal/tree"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/diff"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/grants"
	"github.com/posthouse/posthouse/inbox"
	"github.com/posthouse/posthouse/internal/base/text"
	"github.com/posthouse/posthouse/server"
)

// isApproval reports whether an id is that of an approval in a session.
func isApproval(id string) bool { return strings.HasPrefix(id, "apr_") }

// A question is a gate as a person looks at it before the decision.
type question struct {
	gate   posthouse.Gate
	before *diff.AskedBefore
	others []inbox.Duplicate
	why    string // it was decided
}

// readQuestion reads a gate, or an approval that waits in a session.
func readQuestion(ctx context.Context, c *client.Client, id string) (*question, error) {
	if !isApproval(id) {
		var v server.Grant
		if err := c.Get(ctx, "/api/gates"+client.Path(id, "grant"), nil, &v); err != nil {
			return nil, err
		}
		return &question{*v.Gate, v.Before, v.Duplicates, v.Why}, nil
	}
	var open []*server.Gate
	if err := c.Do(ctx, http.MethodGet, "/api/approvals", nil, nil, &open); err != nil {
		return nil, err
	}
	for _, g := range open {
		if string(g.ID) == id {
			return &question{g.Gate, g.Before, nil, g.Why}, nil
		}
	}
	return nil, &posthouse.Error{
		Code: posthouse.CodeNotFound, Message: "there is no approval that waits: " + id, Hint: "it was answered, ran out, or its connection closed",
	}
}

// show prints what is asked, who asks it of whom, and what is hidden in it.
func (q *question) show(t *term.Term) {
	g := &q.gate
	t.Fields("gate", string(g.ID), "asks", g.Name, "requested by", requestersOf(g), "assignees", strings.Join(g.Assignees, ", "),
		"thread", g.Thread, "branch", g.Branch, "checkpoint", string(g.Checkpoint), "asked", tree.Time(g.CreatedAt), "expires", tree.Time(g.ExpiresAt))
	if g.Note != "" {
		t.Line("\nnote")
		t.Quote(g.Note)
	}
	if g.Text != "" {
		t.Line("\ntext")
		t.Quote(g.Text)
	}
	var marks text.Marks
	marks.Add(append([]string{g.Name, g.Text, g.Note, requestersOf(g)}, g.Assignees...)...)
	if fields := labelled(g); len(fields) > 0 {
		t.Line("\nbinds")
		for _, f := range fields {
			marks.Add(f.Label)
			t.Quote(f.Label + ": " + string(f.Value))
		}
	}
	t.Line("\ncontent")
	t.QuoteJSON(shownOf(g.Payload))
	for _, term := range gate.Terms(g) {
		marks.Add(term.Value)
		t.Fields(strings.ToLower(term.Label), term.Value)
	}
	if g.Decision == nil && g.AsksPeople() {
		t.Line("\nanswers")
		for _, a := range g.Answers() {
			t.Line("  %-9s %s: %s. %s", a.Verdict, a.Label, a.Does, a.Risk)
		}
	}
	if b := q.before; b != nil {
		t.Line("\nin the place of %s: %s", g.Supersedes, whyAgain(g, b))
		showChanged(t, g, b)
	}
	for i := range g.Assignments {
		t.Line("%s", tree.Assignment(&g.Assignments[i]))
	}
	for i := range g.Votes {
		t.Line("%s", tree.Vote(&g.Votes[i]))
	}
	for i := range q.others {
		o := &q.others[i]
		marks.Add(o.Intent)
		t.Line("\n%s", t.Paint(term.Bad, "warning: "+duplicateLine(o)))
	}
	marks.AddJSON(g.Payload)
	warn(t, &marks)
}

// duplicateLine says that another branch or thread asks the same, or got a yes to it.
func duplicateLine(d *inbox.Duplicate) string {
	place := "branch " + term.Visible(d.Branch)
	if d.Thread != "" {
		place += " of thread " + term.Visible(d.Thread)
	}
	asked := place + " asks the same: " + term.Clip(term.Visible(d.Intent), 200) + " (" + string(d.Gate) + ", "
	if d.State == inbox.Open {
		return asked + "open); approve both, and it is done twice"
	}
	did := map[grants.Status]string{
		grants.Executed: "and executed; approve this one, and it is done twice", grants.Released: "and it is under way; approve this one, and it is done twice",
		grants.Unknown: "and may have been done; approve this one, and it may be done twice",
	}
	return asked + d.Verdict.Info().Past + " by " + term.Visible(d.By) + ") " + cmp.Or(did[d.Status], "and nothing ran under it yet; approve both, and it is done twice")
}

// openQuestion returns the one open gate that an id names, nil if it names another number of them.
func openQuestion(ctx context.Context, c *client.Client, id string) (*question, error) {
	if strings.HasPrefix(id, "gate-") || isApproval(id) {
		q, err := readQuestion(ctx, c, id)
		if err != nil || q.gate.Decision != nil {
			return nil, err
		}
		return q, nil
	}
	var cp server.Checkpoint
	if err := c.Get(ctx, "/api/checkpoints"+client.Path(id), env.Params("state", "false"), &cp); err != nil {
		return nil, err
	}
	var one *question
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

// warn prints a line if there is something that people do not see, or take for something else.
func warn(t *term.Term, marks *text.Marks) {
	if says := marks.Warning(); says != "" {
		t.Line("\n%s", t.Paint(term.Bad, "warning: "+says))
	}
}

// requestersOf names those who request a gate, and what each of them changed.
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

// whyAgain returns why a gate supersedes an earlier one.
func whyAgain(g *posthouse.Gate, b *diff.AskedBefore) string {
	if b != nil && b.Changed {
		return "asked again: what is asked has changed"
	}
	return "asked again" + after(": ", term.Clip(term.Visible(g.Note), 200))
}

// showChanged shows how what is asked differs from what was asked before.
func showChanged(out *term.Term, g *posthouse.Gate, b *diff.AskedBefore) {
	if b == nil || !b.Changed {
		return
	}
	tree.Changed(out, "  ", &tree.Change{From: b.Text, To: g.Text, Paths: b.Paths, More: b.More})
}

// shownOf returns a payload as it is shown, also a missing one.
func shownOf(v json.RawMessage) json.RawMessage {
	if v == nil {
		return json.RawMessage("(nothing)")
	}
	return v
}

// labelled returns the members of a gate's payload, if labels say more than their names do.
func labelled(g *posthouse.Gate) []gate.BindingField {
	fields := gate.Binding(g)
	if !slices.ContainsFunc(fields, func(f gate.BindingField) bool { return f.Name != "" && f.Label != f.Name }) {
		return nil
	}
	return fields
}

// decidedSo returns one line about a decision, with the reason that the server gives for it.
func decidedSo(d *posthouse.Decision, why string) string {
	c := *d
	c.Reason = cmp.Or(why, d.Reason)
	return tree.Decision(&c)
}

// headline says in a line what a gate asks.
func headline(g *posthouse.Gate) string {
	if g.Text == "" {
		return g.Name
	}
	return g.Name + ": " + gate.Intent(g)
}
