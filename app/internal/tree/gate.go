package tree

import (
	"cmp"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/term"
	"github.com/posthouse/posthouse/diff"
)

func (d *drawing) gate(g *posthouse.Gate, indent string) {
	ask := g.Name
	if g.Text != "" {
		ask += ": " + g.Text
	}
	d.t.Line("%s? %s  %s", indent, g.ID, term.Clip(term.Visible(ask), 100))
	if g.Note != "" {
		d.t.Line("%s  %s", indent, term.Clip(term.Visible(g.Note), 200))
	}
	if g.Supersedes != "" {
		d.again(g, indent+"  ")
	}
	for i := range g.Assignments {
		d.t.Line("%s  %s", indent, Assignment(&g.Assignments[i]))
	}
	for i := range g.Notices {
		d.t.Line("%s  %s", indent, Notice(&g.Notices[i]))
	}
	for i := range g.Votes {
		d.t.Line("%s  %s", indent, Vote(&g.Votes[i]))
	}
	if g.Decision == nil {
		if n := g.Missing(); n > 0 {
			d.t.Line("%s  approvals missing: %d", indent, n)
		}
		if !g.ExpiresAt.IsZero() {
			d.t.Line("%s  open until %s", indent, Time(g.ExpiresAt))
		}
		return
	}
	d.t.Line("%s%s", indent, Decision(g.Decision))
}

// again prints which gate another one supersedes, and how the question has changed.
func (d *drawing) again(g *posthouse.Gate, indent string) {
	for _, gates := range d.gates {
		for _, old := range gates {
			if old.ID == g.Supersedes && old.Content() != g.Content() {
				d.t.Line("%sasked again: what is asked has changed since %s", indent, old.ID)
				c := &Change{From: old.Text, To: g.Text}
				c.Paths, c.More = diff.JSON(old.Payload, g.Payload)
				Changed(d.t, indent+"  ", c)
				return
			}
		}
	}
	d.t.Line("%sasked again, in the place of %s", indent, g.Supersedes)
}

// A Change is how a question differs from the one that it supersedes.
type Change struct {
	From, To string // the texts
	Paths    []diff.PathChange
	More     int
}

// Changed prints a change, a line for what was and a line for what is.
func Changed(t *term.Term, indent string, c *Change) {
	mark := func(mark, color, s string) {
		if s != "" {
			t.Line("%s%s", indent, t.Paint(color, mark+" "+term.Clip(term.Visible(s), 200)))
		}
	}
	if c.From != c.To {
		mark("-", term.Bad, c.From)
		mark("+", term.Good, c.To)
	}
	for _, p := range c.Paths {
		if p.Path != "" {
			t.Line("%s%s", indent, term.Visible(p.Path))
		}
		mark("-", term.Bad, string(p.A))
		mark("+", term.Good, string(p.B))
	}
	if c.More > 0 {
		t.Line("%sand %d changes more", indent, c.More)
	}
}

// Vote returns one line about a vote.
func Vote(v *posthouse.Decision) string { return "vote: " + Decision(v) }

// Assignment returns one line about who may decide from then on.
func Assignment(a *posthouse.Assignment) string {
	s := a.By + " handed it to "
	if a.Escalation {
		s = "escalated to "
	}
	s += strings.Join(a.To, ", ")
	if a.TakesBack != 0 {
		s = a.By + " took it back"
	}
	if a.Actor != "" && a.Actor != a.By {
		s += " (sent by " + a.Actor + ")"
	}
	s += ", " + Time(a.At)
	if a.Reason != "" {
		s += ": " + term.Clip(term.Visible(a.Reason), 200)
	}
	return s
}

// Notice returns one line about a notice.
func Notice(n *posthouse.Notice) string {
	s := string(n.Kind)
	switch n.Kind {
	case posthouse.NoticeReminder:
		return "reminded, " + Time(n.At)
	case posthouse.NoticeSnooze:
		s = "hidden by " + n.By + " from their inbox until " + Time(n.Until)
	case posthouse.NoticeUnsnooze:
		s = "back in the inbox of " + n.By
	}
	if n.Actor != "" && n.Actor != n.By {
		s += " (sent by " + n.Actor + ")"
	}
	return s + ", " + Time(n.At) + after(": ", n.Reason)
}

// Decision returns one line about a decision.
func Decision(dec *posthouse.Decision) string {
	v, mark := dec.Verdict.Info(), "✓"
	if v.No {
		mark = "✗"
	}
	s := mark + " " + cmp.Or(v.Past, string(dec.Verdict))
	if dec.By != "" {
		s += " by " + dec.By
	}
	if dec.For != "" {
		s += " for " + dec.For
	}
	switch sent := dec.Actor != "" && dec.Actor != dec.By; {
	case sent && !dec.Token.IsZero():
		s += " (by an approval token of " + dec.Actor + ")"
	case sent:
		s += " (sent by " + dec.Actor + ")"
	case !dec.Token.IsZero():
		s += " (by an approval token)"
	}
	if !dec.At.IsZero() {
		s += ", " + Time(dec.At)
	}
	if dec.Reason != "" {
		s += ": " + term.Clip(term.Visible(dec.Reason), 200)
	}
	return s
}
