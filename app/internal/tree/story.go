package tree

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/term"
)

// A Step is what is drawn of a step: its event in the log, and the checkpoint that it led to.
type Step struct {
	*posthouse.Event
	Before posthouse.ID
}

// Took formats how long an attempt took, "" where that is not on record.
func Took(began, end time.Time) string {
	if began.IsZero() {
		return ""
	}
	d := end.Sub(began)
	if d > time.Minute {
		d = d.Round(time.Second)
	}
	return d.String()
}

// Attempt says how many attempts there were, and why the one before failed; "" for a first one.
func Attempt(n int, lastError string) string {
	s := ""
	if n > 1 {
		s = "attempt " + strconv.Itoa(n)
	}
	if lastError != "" {
		s = strings.TrimSpace(s + " after: " + term.Clip(term.Visible(lastError), 80))
	}
	return s
}

// StepLine describes a step's record, without its notes.
func StepLine(e *posthouse.Event) string {
	name := e.Step.Name
	if e.Step.Occurrence > 0 {
		name += "[" + strconv.FormatUint(uint64(e.Step.Occurrence), 10) + "]"
	}
	parts := []string{"step " + term.Visible(name)}
	if took := Took(e.Step.Began, e.At); took != "" {
		parts = append(parts, took)
	}
	switch a := Attempt(e.Step.Attempts, e.LastError); {
	case strings.HasSuffix(e.Step.Name, "$attempt") && e.LastError != "":
		parts = append(parts, "failed: "+term.Clip(term.Visible(e.LastError), 80))
	case a != "":
		parts = append(parts, a)
	}
	return strings.Join(parts, "  ")
}

// NoteLines describe notes, a line each: the model, tokens and cost before what the program says, and
// values by name after it. An input has its size.
func NoteLines(notes []posthouse.Note) (lines []string) {
	for i := range notes {
		n := &notes[i]
		var parts []string
		add := func(s string) { parts = append(parts, term.Clip(term.Visible(s), 120)) }
		if n.Line != "" {
			add(n.Line)
		}
		if n.Model != "" {
			add(n.Model)
		}
		if n.InputTokens > 0 || n.OutputTokens > 0 {
			add(fmt.Sprintf("%d tokens in, %d out", n.InputTokens, n.OutputTokens))
		}
		if n.Cost != "" {
			add(n.Cost)
		}
		if n.Input != nil {
			add(fmt.Sprintf("input %s", n.Input))
		}
		for _, name := range slices.Sorted(maps.Keys(n.Values)) {
			add(fmt.Sprintf("%s %s", name, n.Values[name]))
		}
		lines = append(lines, "note  "+strings.Join(parts, "  "))
	}
	return lines
}

// steps prints what is told of the steps before a checkpoint, and on it: with Times all of it, else the
// notes only.
func (d *drawing) steps(h *posthouse.Header, indent string) {
	for _, e := range d.told[h.ID] {
		if e.Step != nil && d.times && !strings.HasSuffix(e.Step.Name, "$note") {
			d.t.Line("%s", indent+StepLine(e))
		}
		for _, line := range NoteLines(e.Notes) {
			d.t.Line("%s", indent+line)
		}
	}
	if !d.times {
		return
	}
	if took := Took(h.Began, h.CreatedAt); took != "" {
		d.t.Line("%s", strings.TrimRight(indent+"took "+took+"  "+Attempt(h.Attempts, d.causes[h.ID]), " "))
	}
}
