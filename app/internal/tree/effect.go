package tree

import (
	"fmt"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/term"
	"github.com/posthouse/posthouse/grants"
)

// before returns the last checkpoint of an effect's branch before the effect, else the
// first after it, else "".
func before(all []*posthouse.Header, e *Effect) (id posthouse.ID) {
	var best *posthouse.Header
	for _, h := range all {
		switch {
		case h.Branch != e.Branch:
		case best == nil, h.Seq < e.First && (best.Seq >= e.First || h.Seq > best.Seq), best.Seq >= e.First && h.Seq < best.Seq:
			best = h
		}
	}
	if best == nil {
		return ""
	}
	return best.ID
}

// EffectLine returns one line about what acted on the world and who approved it.
func EffectLine(e *Effect) string {
	s := "→ " + term.Clip(term.Visible(e.Name), 60)
	if e.Occurrence > 0 {
		s += fmt.Sprintf("[%d]", e.Occurrence)
	}
	s += "  " + UseStatus(&e.Use)
	if n := len(e.Attempts); n > 0 {
		s += ", at " + term.Visible(e.Attempts[n-1].Worker)
	}
	switch {
	case e.Decision != nil:
		return s + ", " + Decision(e.Decision) + "  (" + string(e.Grant) + ")"
	case e.Grant != "":
		return s + ", under " + string(e.Grant)
	}
	return s + ", without a grant"
}

// UseStatus says how far an effect has come.
func UseStatus(u *grants.Use) string {
	s := string(u.Status)
	switch u.Status {
	case grants.Unknown:
		s = "outcome unknown"
	case grants.Decided:
		s = "not done"
	}
	if u.Failed > 0 {
		s += fmt.Sprintf(" (attempts that did not act: %d)", u.Failed)
	}
	return s
}

// Attempts returns a line for each worker that had an effect as a task, oldest first.
func Attempts(u *grants.Use) (lines []string) {
	for i := range u.Attempts {
		a := &u.Attempts[i]
		s := term.Visible(a.Worker) + " was given it " + Time(a.At) + " (task " + string(a.Gate) + ")"
		switch {
		case a.Undone:
			s += ": it did not act"
		case i < len(u.Attempts)-1:
			s += ": it is not known whether it acted"
		case u.Status == grants.Executed:
			s += ": it acted"
		case u.Status == grants.Released:
			s += ": it is at it"
		case u.Status == grants.Unknown:
			s += ": it is not known whether it acted"
		}
		lines = append(lines, s)
	}
	return lines
}
