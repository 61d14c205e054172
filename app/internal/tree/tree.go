package tree

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/term"
	"github.com/posthouse/posthouse/grants"
)

// A Thread is what is drawn.
type Thread struct {
	Checkpoints []*posthouse.Header
	Gates       []*posthouse.Gate       // of these checkpoints, decided or open
	Heads       map[string]posthouse.ID // branch to head
	Effects     []Effect                // what acted on the world

	Steps []Step // what was recorded of steps and checkpoints
	Times bool   // with how long they took, and their attempts; else the notes on them only
}

// An Effect is what acted on the world, and what licensed it.
type Effect struct {
	grants.Use
	Decision *posthouse.Decision // nil: unknown or missing
}

// timeFormat is RFC 3339, to the second. Times are in UTC, so that two people see the same page.
const timeFormat = time.RFC3339

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
	effects  map[posthouse.ID][]*Effect
	told     map[posthouse.ID][]*posthouse.Event // of steps, and of the checkpoint
	causes   map[posthouse.ID]string             // why the attempt before a checkpoint's failed
	times    bool
	what     int // width of the second column
	status   int // width of the third
}

// Draw prints the tree. A checkpoint without its parent among those given is
// drawn as a root.
func Draw(t *term.Term, th *Thread) {
	d := &drawing{
		t: t, children: map[posthouse.ID][]*posthouse.Header{},
		gates: map[posthouse.ID][]*posthouse.Gate{}, heads: map[posthouse.ID][]string{}, effects: map[posthouse.ID][]*Effect{},
		told: map[posthouse.ID][]*posthouse.Event{}, causes: map[posthouse.ID]string{}, times: th.Times,
	}
	for _, s := range th.Steps {
		d.told[s.Before] = append(d.told[s.Before], s.Event)
		if s.Checkpoint != nil {
			d.causes[s.Before] = s.LastError
		}
	}
	for i := range th.Effects {
		if id := before(th.Checkpoints, &th.Effects[i]); id != "" {
			d.effects[id] = append(d.effects[id], &th.Effects[i])
		}
	}
	known := map[posthouse.ID]bool{}
	for _, h := range th.Checkpoints {
		known[h.ID] = true
		d.what = min(max(d.what, term.Width(term.Visible(what(h)))), maxPad)
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
		d.steps(h, indent+bar)
		for _, g := range d.gates[h.ID] {
			d.gate(g, indent+bar)
		}
		for _, e := range d.effects[h.ID] {
			d.t.Line("%s", indent+bar+EffectLine(e))
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

// branch draws a line with a fork mark before its first checkpoint.
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

// maxPad bounds how many columns names of nodes are padded to. A hundred spaces would be counted.
const maxPad = 90

func (d *drawing) checkpoint(h *posthouse.Header, indent string) {
	w := term.Pad(term.Visible(what(h)), d.what)
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
