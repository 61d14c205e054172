package deciders

import (
	"slices"
	"strconv"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/text"
)

// A Substitution lets one person decide in the place of another over a period: what is assigned to
// By may be decided by To.
type Substitution struct {
	ID     posthouse.ID `json:"id"`
	By     string       `json:"by"`               // who is away
	To     string       `json:"to"`               // who decides in their place
	Actor  string       `json:"actor,omitempty"`  // who named it, when an operator acts for By
	From   time.Time    `json:"from"`             // when it begins
	Until  time.Time    `json:"until"`            // when it ends
	Reason string       `json:"reason,omitempty"` // at most 500 bytes
	At     time.Time    `json:"at"`               // when it was named
}

// The limits of substitutions.
const (
	MaxSubstitution  = 366 * 24 * time.Hour // how far the end of one may be away
	MaxSubstitutions = 1000                 // in a store, beside those that ended
	MaxStandIns      = 50                   // for how many people one may be named, and by how many one may be
	maxSubstReason   = 500
)

// Active reports whether the substitution holds at a time.
func (s *Substitution) Active(at time.Time) bool { return !at.Before(s.From) && at.Before(s.Until) }

// Check returns why the substitution cannot be named at a time beside others, or nil: beyond names
// and times, one of the same two people at the same time, and two people who stand in for each
// other at once.
func (s *Substitution) Check(others []Substitution, now time.Time) error {
	for field, name := range map[string]string{"by": s.By, "to": s.To} {
		if err := posthouse.CheckDecider(field, name); err != nil {
			return err
		}
	}
	if err := posthouse.CheckPerson("actor", s.Actor); err != nil {
		return err
	}
	switch {
	case posthouse.SameName(s.By, s.To):
		return posthouse.Invalid("to", "is %s, who would stand in for themselves", s.To)
	case s.Until.IsZero():
		return posthouse.Invalid("until", "is missing: a substitution ends")
	case !s.Until.After(now):
		return posthouse.Invalid("until", "%s has passed", s.Until.Format(time.RFC3339))
	case !s.Until.After(s.From):
		return posthouse.Invalid("until", "%s is not after from, %s", s.Until.Format(time.RFC3339), s.From.Format(time.RFC3339))
	case s.Until.Sub(now) > MaxSubstitution:
		return posthouse.Invalid("until", "%s is more than 366 days away", s.Until.Format(time.RFC3339))
	case len(s.Reason) > maxSubstReason || !text.IsUTF8(s.Reason):
		return posthouse.Invalid("reason", "must be at most %d bytes of text", maxSubstReason)
	}
	return s.beside(others)
}

// beside checks the substitution against others that did not end.
func (s *Substitution) beside(others []Substitution) error {
	given, taken := 0, 0
	for i := range others {
		o := &others[i]
		together := o.From.Before(s.Until) && s.From.Before(o.Until)
		switch {
		case together && posthouse.SameName(o.By, s.By) && posthouse.SameName(o.To, s.To):
			return &posthouse.Error{
				Code: posthouse.CodeConflict, Field: "to", Message: s.To + " is the substitute of " + s.By + " already, from " + o.From.Format(time.RFC3339) + " to " + o.Until.Format(time.RFC3339),
				Hint: "withdraw " + string(o.ID) + " first",
			}
		case together && posthouse.SameName(o.By, s.To) && posthouse.SameName(o.To, s.By):
			return &posthouse.Error{
				Code: posthouse.CodeConflict, Field: "to", Message: s.By + " is the substitute of " + s.To + " at that time: each would stand in for the other",
				Hint: "name somebody else, or withdraw " + string(o.ID),
			}
		}
		if posthouse.SameName(o.By, s.By) {
			given++
		}
		if posthouse.SameName(o.To, s.To) {
			taken++
		}
	}
	switch {
	case given >= MaxStandIns:
		return tooMany("by", s.By+" has", MaxStandIns)
	case taken >= MaxStandIns:
		return tooMany("to", s.To+" is named in", MaxStandIns)
	case len(others) >= MaxSubstitutions:
		return tooMany("by", "the store has", MaxSubstitutions)
	}
	return nil
}

func tooMany(field, who string, most int) error {
	return &posthouse.Error{
		Code: posthouse.CodeTooLarge, Field: field, Message: who + " as many substitutions as there may be: " + strconv.Itoa(most), Hint: "withdraw some",
	}
}

// Substitute returns the assignment by which a person has somebody's right to decide the gate at a
// time, nil if they have a right of their own or stand in for no person who has one. The error says
// why a substitution does not count for this gate.
//
// A substitution counts as a delegation that is made when it is used, and all rules of one hold: the
// right is used up, a person has one vote, and no right comes from a requester or goes to one. Nor
// does it, in a quorum, by two substitutions that one operator named. It is one step: the
// substitute of a substitute has no right.
func Substitute(g *posthouse.Gate, name string, named []Substitution, at time.Time) (*posthouse.Assignment, error) {
	if len(g.Assignees) == 0 || !g.AsksPeople() {
		return nil, nil
	}
	list := Of(g, at)
	if slices.ContainsFunc(list, func(d Decider) bool { return posthouse.SameName(d.Name, name) }) {
		return nil, nil
	}
	var barred error
	for _, d := range list {
		for i := range named {
			s := &named[i]
			if !posthouse.SameName(s.By, d.Name) || !posthouse.SameName(s.To, name) || !s.Active(at) {
				continue
			}
			err := s.barred(g, &d, at)
			if err == nil {
				return &posthouse.Assignment{By: d.Name, Actor: s.Actor, To: []string{name}, Substitution: s.ID, Reason: s.reason()}, nil
			}
			if barred == nil {
				barred = err
			}
		}
	}
	return nil, barred
}

func (s *Substitution) reason() string {
	r := "substitute until " + s.Until.UTC().Format(time.RFC3339)
	if s.Reason != "" {
		r += ": " + s.Reason
	}
	return r
}

// barred returns why the substitution moves the right of a decider not.
func (s *Substitution) barred(g *posthouse.Gate, d *Decider, at time.Time) error {
	forbidden := func(message string) error {
		return &posthouse.Error{Code: posthouse.CodeForbidden, Message: message, Hint: ownRequestHint}
	}
	switch {
	case slices.ContainsFunc(g.Assignments, func(a posthouse.Assignment) bool {
		return g.Quorum != nil && a.Substitution != "" && g.SamePerson(a.Actor, s.Actor)
	}):
		return &posthouse.Error{
			Code: posthouse.CodeForbidden, Message: s.Actor + " named another substitute who voted: the substitutes that one person names have one vote", Hint: "somebody else has to vote",
		}
	case !OpenTo(g, d.Name, at):
		return &posthouse.Error{Code: posthouse.CodeForbidden, Message: d.Name + ", whose substitute " + s.To + " is, has no right to decide this any more", Hint: "ask one of its assignees"}
	case g.Excluded(s.By), g.Excluded(s.Actor):
		return forbidden(s.To + " was named as a substitute by somebody who asked for this")
	case g.Excluded(s.To):
		return forbidden(s.To + " asked for this and cannot decide it as the substitute of " + s.By)
	case contains(d.Via, s.To):
		return forbidden(s.To + " had this right before: it would go in a circle")
	case g.Quorum != nil && (g.Voted(s.To) != nil || g.Voted(s.Actor) != nil):
		v := g.Voted(s.To)
		if v == nil {
			v = g.Voted(s.Actor)
		}
		return &posthouse.Error{
			Code: posthouse.CodeVoted, Decision: v, Message: v.By + " has voted on gate " + string(g.ID) + " already: a substitute has one vote", Hint: "somebody else has to vote",
		}
	}
	return nil
}

// SeenBy returns the gate as a person may decide it: with the assignment of [Substitute], which is on
// record only once they do.
func SeenBy(g *posthouse.Gate, name string, named []Substitution, at time.Time) *posthouse.Gate {
	if len(named) == 0 || g.Decision != nil {
		return g
	}
	a, err := Substitute(g, name, named, at)
	if a == nil || err != nil {
		return g
	}
	c := *g
	c.Assignments = append(slices.Clip(g.Assignments), *a)
	return &c
}
