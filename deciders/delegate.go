package deciders

import (
	"slices"
	"time"

	"github.com/posthouse/posthouse"
)

// Delegates reports whether a person handed a right on by the assignment: it is no escalation, of no
// substitute, and takes nothing back.
func Delegates(a *posthouse.Assignment) bool {
	return !a.Escalation && a.Substitution == "" && a.TakesBack == 0
}

// MayDelegate returns why a person may not hand on their right to decide the gate, or nil.
func MayDelegate(g *posthouse.Gate, name string, at time.Time) error {
	if err := waits(g, at); err != nil {
		return err
	}
	switch _, ok := Right(g, name, at); {
	case len(g.Assignees) == 0:
		return posthouse.Invalid("by", "cannot hand on gate %s: it is assigned to nobody, and whoever may decide it can", g.ID)
	case !ok:
		return NotAssigned(g, name)
	case g.Quorum != nil && g.Voted(name) != nil:
		return voted(g, g.Voted(name), name, " and cannot hand it on", "")
	case g.Excluded(name):
		return choosesOwn(g, name)
	}
	return nil
}

// waits returns why the rights of a gate cannot move any more, or nil.
func waits(g *posthouse.Gate, at time.Time) error {
	switch {
	case !g.AsksPeople():
		return posthouse.Invalid("gate", "%s waits for a %s and asks nobody", g.ID, g.Kind)
	case g.Decision != nil:
		return decidedError(g)
	case !g.ExpiresAt.IsZero() && !at.Before(g.ExpiresAt):
		return &posthouse.Error{Code: posthouse.CodeConflict, Message: "gate " + string(g.ID) + " has expired", Hint: "nobody can decide it any more"}
	}
	return nil
}

func choosesOwn(g *posthouse.Gate, name string) error {
	return requested(g, name, "cannot choose who decides it", "reject it, or have somebody else delegate it")
}

// MayHand returns why a delegation of the gate would be refused, or nil: the person who has the
// right, who sends it, and who shall have it are looked at.
func MayHand(g *posthouse.Gate, d *posthouse.Delegation, at time.Time) error {
	if err := MayDelegate(g, d.By, at); err != nil {
		return err
	}
	have, _ := Right(g, d.By, at)
	switch {
	case posthouse.SameName(d.To, d.By), contains(have.Via, d.To):
		return posthouse.Invalid("to", "%s had this right before: it would go in a circle", d.To)
	case g.Excluded(d.Actor):
		return choosesOwn(g, d.Actor)
	case g.Excluded(d.To):
		return requested(g, d.To, "cannot be given it", "somebody else has to decide")
	}
	if _, has := Right(g, d.To, at); has {
		return posthouse.Invalid("to", "%s may decide gate %s already", d.To, g.ID)
	}
	if v := g.Voted(d.To); g.Quorum != nil && v != nil {
		return voted(g, v, d.To, " already, and has one vote", "somebody else has to vote")
	}
	return nil
}

// MayTakeBack returns the delegation of the gate that a person may take back: the newest one in
// force that was not used, to d.To if that is given. It is nil with the reason.
func MayTakeBack(g *posthouse.Gate, d *posthouse.Delegation, at time.Time) (*posthouse.Assignment, error) {
	if err := waits(g, at); err != nil {
		return nil, err
	}
	for _, name := range []string{d.By, d.Actor} {
		if g.Excluded(name) {
			return nil, choosesOwn(g, name)
		}
	}
	var voted error
	list := Of(g, at)
	for i := range slices.Backward(g.Assignments) {
		a := &g.Assignments[i]
		if !posthouse.SameName(a.By, d.By) || !Delegates(a) || a.Seq == 0 || d.To != "" && !posthouse.SameName(a.To[0], d.To) {
			continue
		}
		held := slices.IndexFunc(list, func(r Decider) bool { return slices.Contains(r.by, a.Seq) })
		if held < 0 {
			continue // it was taken back, or the escalation took the right
		}
		holder := list[held].Name
		if holds := slices.IndexFunc(list, func(r Decider) bool { return posthouse.SameName(r.Name, d.By) }); holds >= 0 {
			return nil, posthouse.Invalid("by", "%s may decide gate %s already, with another right", d.By, g.ID)
		}
		v := slices.IndexFunc(g.Votes, func(v posthouse.Decision) bool { return posthouse.SameName(v.By, holder) })
		if v < 0 {
			return a, nil
		}
		voted = &posthouse.Error{
			Code: posthouse.CodeVoted, Decision: &g.Votes[v], Message: holder + " has voted on gate " + string(g.ID) + ": what was handed on is used", Hint: "the vote stands",
		}
	}
	if voted != nil {
		return nil, voted
	}
	to := ""
	if d.To != "" {
		to = " to " + d.To
	}
	return nil, &posthouse.Error{
		Code: posthouse.CodeConflict, Message: d.By + " has no delegation of gate " + string(g.ID) + to + " to take back",
		Hint: "look at who may decide it: posthouse gate " + string(g.ID),
	}
}
