package threadlog

import (
	"github.com/posthouse/posthouse"
)

// Edits finds the gates that were opened in the place of edited ones, in the records of a log
// that are added in order. Such a gate asks about what another one was edited to, or has that
// one's decision on record. The edit then licenses effects under the new gate alone.
type Edits struct {
	asked  map[posthouse.ID]*posthouse.GateInfo // of people
	edited map[posthouse.ID]bool
	by     map[posthouse.ID]posthouse.ID
}

// Add takes note of a record.
func (e *Edits) Add(r *posthouse.Record) {
	switch g, d := r.Gate, r.Decision; {
	case g != nil && posthouse.AsksPeople(g.Kind) && e.asked[g.ID] == nil: // a forged second one could make a circle
		if e.asked == nil {
			e.asked, e.edited, e.by = map[posthouse.ID]*posthouse.GateInfo{}, map[posthouse.ID]bool{}, map[posthouse.ID]posthouse.ID{}
		}
		e.asked[g.ID] = g
		old := e.asked[g.Supersedes]
		if e.edited[g.Supersedes] && e.by[g.Supersedes] == "" && old.Name == g.Name && old.Task == g.Task && old.Branch == g.Branch {
			e.by[g.Supersedes] = g.ID
		}
	case d != nil && d.Verdict == posthouse.Edit && e.asked[d.Gate] != nil:
		e.edited[d.Gate] = true
	}
}

// By returns the first gate that was opened in the place of an edited one, "" if no gate was.
func (e *Edits) By(edited posthouse.ID) posthouse.ID { return e.by[edited] }

// Follows reports whether a gate is another one, or was opened in its place, or in the place of
// that one, and so on.
func (e *Edits) Follows(g, other posthouse.ID) bool {
	for id := other; id != ""; id = e.by[id] {
		if id == g {
			return true
		}
	}
	return false
}
