package tree

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/cmd/posthouse/internal/term"
)

// A Thread is what is drawn.
type Thread struct {
	Checkpoints []*posthouse.Header
	Gates       []*posthouse.Gate       // of these checkpoints, decided or open
	Heads       map[string]posthouse.ID // branch to head
}

// timeFormat is to the second, in UTC, so that two people see the same page.
const timeFormat = "2006-01-02 15:04:05"

// Time formats a time as all commands do.
func Time(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(timeFormat)
}

type drawing struct {
	t        *term.Term
	children map[posthouse.ID][]*posthouse.Header
	gates    map[posthouse.ID][]*posthouse.Gate
	heads    map[posthouse.ID][]string
	what     int // width of the second column
	status   int // width of the third
}

// Draw prints the tree. A checkpoint whose parent is not among those given is
// drawn as a root.
func Draw(t *term.Term, th *Thread) {
	d := &drawing{
		t: t, children: map[posthouse.ID][]*posthouse.Header{},
		gates: map[posthouse.ID][]*posthouse.Gate{}, heads: map[posthouse.ID][]string{},
	}
	known := map[posthouse.ID]bool{}
	for _, h := range th.Checkpoints {
		known[h.ID] = true
		d.what = max(d.what, term.Width(term.Strip(what(h))))
		d.status = max(d.status, len(status(h)))
	}
	var roots []*posthouse.Header
	for _, h := range th.Checkpoints {
		if h.Parent != "" && known[h.Parent] {
			d.children[h.Parent] = append(d.children[h.Parent], h)
			continue
		}
		roots = append(roots, h)
	}
	for _, g := range th.Gates {
		d.gates[g.Checkpoint] = append(d.gates[g.Checkpoint], g)
	}
	for branch, id := range th.Heads {
		d.heads[id] = append(d.heads[id], branch)
	}
	bySeq(roots)
	for _, r := range roots {
		d.line(r, "")
	}
}

func bySeq(hs []*posthouse.Header) {
	slices.SortFunc(hs, func(a, b *posthouse.Header) int { return cmp.Compare(a.Seq, b.Seq) })
}

// line draws h and what descends from it straight down at one indent; other
// children go to the right. It is a loop along the line, so only branches nest.
func (d *drawing) line(h *posthouse.Header, indent string) {
	for h != nil {
		d.checkpoint(h, indent)
		kids := d.children[h.ID]
		bySeq(kids)
		next := straight(h, kids)
		bar := "  "
		if len(kids) > 0 {
			bar = "│ "
		}
		for _, g := range d.gates[h.ID] {
			d.gate(g, indent+bar)
		}
		for _, k := range kids {
			if k == next {
				continue
			}
			fmt.Fprint(d.t.Out, indent+"├─")
			d.branch(k, indent+"│ ")
		}
		h = next
	}
}

// branch draws a line whose first checkpoint stands behind a fork mark.
func (d *drawing) branch(h *posthouse.Header, indent string) {
	var b strings.Builder
	sub := *d
	sub.t = &term.Term{Out: &b, Color: d.t.Color}
	sub.line(h, indent)
	fmt.Fprint(d.t.Out, strings.TrimPrefix(b.String(), indent))
}

// straight picks the child that continues the line: the first on h's own branch.
func straight(h *posthouse.Header, kids []*posthouse.Header) *posthouse.Header {
	for _, k := range kids {
		if k.Branch == h.Branch {
			return k
		}
	}
	return nil
}

func what(h *posthouse.Header) string {
	s := h.Kind
	switch {
	case h.Agent != "":
		s += " " + h.Agent
	case h.Node != "":
		s += " " + h.Node
	}
	return strings.TrimSpace(s)
}

func status(h *posthouse.Header) string {
	if h.Status == posthouse.StatusSaved {
		return "saved"
	}
	return string(h.Status)
}

func (d *drawing) checkpoint(h *posthouse.Header, indent string) {
	w := term.Pad(term.Strip(what(h)), d.what)
	st := d.t.Paint(color(h.Status), term.Pad(status(h), d.status))
	tail := ""
	if heads := d.heads[h.ID]; len(heads) > 0 {
		slices.Sort(heads)
		tail = "  [" + strings.Join(heads, ", ") + "]"
	}
	if s := h.Source; s != nil && s.Thread != h.Thread {
		tail += fmt.Sprintf("  from %s of thread %s", s.ID, s.Thread)
	}
	if h.By != "" {
		tail += "  by " + h.By
	}
	if h.Error != "" {
		tail += "  " + term.Clip(h.Error, 80)
	}
	d.t.Line("%s● %s  %s  %s  %s%s", indent, h.ID, w, st, Time(h.CreatedAt), tail)
}

func color(s posthouse.Status) string {
	switch s {
	case posthouse.StatusDone:
		return term.Good
	case posthouse.StatusFailed, posthouse.StatusCancelled:
		return term.Bad
	case posthouse.StatusWaiting, posthouse.StatusReady:
		return term.Loud
	}
	return term.Quiet
}

func (d *drawing) gate(g *posthouse.Gate, indent string) {
	ask := g.Name
	if g.Text != "" {
		ask += ": " + g.Text
	}
	d.t.Line("%s? %s  %s", indent, g.ID, term.Clip(term.Strip(ask), 100))
	if g.Note != "" {
		d.t.Line("%s  %s", indent, term.Clip(term.Strip(g.Note), 200))
	}
	if g.Supersedes != "" {
		d.t.Line("%s  %s", indent, d.again(g))
	}
	for i := range g.Assignments {
		d.t.Line("%s  %s", indent, Assignment(&g.Assignments[i]))
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

// again says in the place of which gate one asks.
func (d *drawing) again(g *posthouse.Gate) string {
	for _, gates := range d.gates {
		for _, old := range gates {
			if old.ID == g.Supersedes && old.Content() != g.Content() {
				return "asked again: what is asked has changed since " + string(old.ID)
			}
		}
	}
	return "asked again, in the place of " + string(g.Supersedes)
}

// Vote says a vote in one line.
func Vote(v *posthouse.Decision) string { return "vote: " + Decision(v) }

// Assignment says in one line who may decide from then on.
func Assignment(a *posthouse.Assignment) string {
	s := a.By + " handed it to "
	if a.Escalation {
		s = "escalated to "
	}
	s += strings.Join(a.To, ", ")
	if a.Actor != "" && a.Actor != a.By {
		s += " (sent by " + a.Actor + ")"
	}
	s += ", " + Time(a.At)
	if a.Reason != "" {
		s += ": " + term.Clip(term.Strip(a.Reason), 200)
	}
	return s
}

// Decision says a decision in one line.
func Decision(dec *posthouse.Decision) string {
	mark, verb := "✓", "approved"
	switch dec.Verdict {
	case posthouse.Reject:
		mark, verb = "✗", "rejected"
	case posthouse.Edit:
		verb = "approved with edits"
	case posthouse.Respond:
		verb = "answered"
	case posthouse.Expire:
		mark, verb = "✗", "expired"
	case posthouse.Cancel:
		mark, verb = "✗", "cancelled"
	}
	s := mark + " " + verb
	if dec.By != "" {
		s += " by " + dec.By
	}
	if dec.For != "" {
		s += " for " + dec.For
	}
	if dec.Actor != "" && dec.Actor != dec.By {
		s += " (sent by " + dec.Actor + ")"
	}
	if !dec.At.IsZero() {
		s += ", " + Time(dec.At)
	}
	if dec.Reason != "" {
		s += ": " + term.Clip(term.Strip(dec.Reason), 200)
	}
	return s
}
