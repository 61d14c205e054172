package deciders

import (
	"slices"
	"time"

	"github.com/posthouse/posthouse"
)

// A Decider is somebody who may decide a gate.
type Decider struct {
	Name string
	For  string // the owner of the right before it was handed on; "" for their own

	Via []string // all who had the right before

	by []uint64 // the entries by which it moved, as many as Via
}

// Of returns who may decide the gate at a time: its assignees, as changed by
// delegations that were not taken back and the escalation. Nil means anyone with the
// role. It includes people who have voted, and perhaps the requester.
func Of(g *posthouse.Gate, at time.Time) []Decider {
	if len(g.Assignees) == 0 {
		return nil
	}
	list := make([]Decider, 0, len(g.Assignees))
	list = add(list, g.Assignees)
	escalated, back := false, takenBack(g)
	for _, a := range g.Assignments {
		switch {
		case a.Escalation:
			escalated = true
			list = escalate(g, list, a.To, a.Replace)
		case a.TakesBack != 0, Delegates(&a) && slices.Contains(back, a.Seq):
			// It is as if it had not been handed on.
		default:
			for i := range list {
				if d := &list[i]; posthouse.SameName(d.Name, a.By) {
					d.Via, d.by = append(slices.Clip(d.Via), a.By), append(slices.Clip(d.by), a.Seq)
					d.Name, d.For = a.To[0], d.Via[0]
				}
			}
		}
	}
	if e := g.Escalation; e != nil && !escalated && !at.Before(e.At) {
		list = escalate(g, list, e.To, e.Replace)
	}
	return list
}

// escalate widens the list of a gate that escalated. In a quorum each right is one vote: a person
// who handed theirs on does not get another one while it lasts.
func escalate(g *posthouse.Gate, list []Decider, to []string, replace bool) []Decider {
	if g.Quorum != nil && !replace {
		had := func(name string) bool {
			return slices.ContainsFunc(list, func(d Decider) bool { return contains(d.Via, name) })
		}
		to = slices.DeleteFunc(slices.Clone(to), had)
	}
	return widen(list, to, replace)
}

// takenBack returns the entries of the delegations that were taken back.
func takenBack(g *posthouse.Gate) (entries []uint64) {
	for i := range g.Assignments {
		if a := &g.Assignments[i]; a.TakesBack != 0 {
			entries = append(entries, a.TakesBack)
		}
	}
	return entries
}

func add(list []Decider, names []string) []Decider {
	for _, n := range names {
		if !slices.ContainsFunc(list, func(d Decider) bool { return posthouse.SameName(d.Name, n) }) {
			list = append(list, Decider{Name: n})
		}
	}
	return list
}

func widen(list []Decider, names []string, replace bool) []Decider {
	if replace {
		list = nil
	}
	return add(list, names)
}

// Right returns the right of a person, and whether they have one.
func Right(g *posthouse.Gate, name string, at time.Time) (Decider, bool) {
	if len(g.Assignees) == 0 {
		return Decider{Name: name}, true
	}
	list := Of(g, at)
	if i := slices.IndexFunc(list, func(d Decider) bool { return posthouse.SameName(d.Name, name) }); i >= 0 {
		return list[i], true
	}
	return Decider{}, false
}

// contains reports whether a list has a person's name.
func contains(list []string, name string) bool {
	return slices.ContainsFunc(list, func(n string) bool { return posthouse.SameName(n, name) })
}

// OpenTo reports whether a person may still decide the gate at a time, as far as the
// gate itself shows. It is not open to those who asked for it and may only reject it.
func OpenTo(g *posthouse.Gate, name string, at time.Time) bool {
	_, ok := Right(g, name, at)
	return ok && g.Decision == nil && g.Voted(name) == nil && !g.Excluded(name)
}

// Met returns what the votes decide at a time, or "" while they decide nothing.
func Met(g *posthouse.Gate, at time.Time) posthouse.Verdict {
	q := g.Quorum
	if g.Missing() == 0 {
		return g.Votes[len(g.Votes)-1].Verdict // the last one was a yes
	}
	if g.AsksOutcome() {
		return "" // its votes are all for the same
	}
	if !q.Outvote {
		if slices.ContainsFunc(g.Votes, func(v posthouse.Decision) bool { return v.Verdict == posthouse.Reject }) {
			return posthouse.Reject
		}
		return ""
	}
	left := q.Of - len(g.Votes)
	if list := Of(g, at); list != nil {
		left = 0
		for _, d := range list {
			if OpenTo(g, d.Name, at) {
				left++
			}
		}
	}
	if left < g.Missing() {
		return posthouse.Reject
	}
	return ""
}
