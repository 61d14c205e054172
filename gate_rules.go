package posthouse

import (
	"slices"
	"time"

	"github.com/posthouse/posthouse/internal/base/text"
)

// MayGive checks who may decide a gate at a time, and with which verdict. It does not
// check that the gate waits, nor what the decision carries.
func (g *Gate) MayGive(d *Decision, at time.Time) error {
	forbidden := func(message, hint string) error {
		return &Error{Code: CodeForbidden, Message: message, Hint: hint}
	}
	withdraws := d.Verdict == Cancel
	right, ok := g.Decider(d.By, at)
	switch own := g.Quorum == nil && !d.Verdict.IsNo(); {
	case !g.AsksPeople() && !withdraws:
		return forbidden("gate "+string(g.ID)+" waits for a "+g.Kind+", not for a person", "send the signal, wait, or cancel")
	case !g.Allows(d.Verdict):
		return Invalid("verdict", "%q is not among those this gate allows: %v", d.Verdict, g.Verdicts)
	case !ok && !withdraws:
		return g.NotAssigned(d.By)
	case own && g.Excluded(d.By):
		return forbidden(d.By+" asked for this and cannot approve it", ownRequestHint)
	case own && g.Excluded(d.Actor):
		return forbidden(d.Actor+" asked for this and cannot approve it in the name of "+d.By+" either", ownRequestHint)
	case own && slices.ContainsFunc(right.Via, g.Excluded):
		return forbidden(d.By+" was given this by somebody who asked for it", ownRequestHint)
	case g.Quorum != nil && !withdraws:
		return g.mayVote(d, right)
	}
	return nil
}

// MayDecide returns why a person may not give an open gate a verdict at a time, or nil.
// [ErrInvalid] for a verdict that the gate does not allow, [ErrForbidden] for a person
// who is not asked or who made the request, [ErrVoted] for one who has voted.
func (g *Gate) MayDecide(name string, v Verdict, at time.Time) error {
	return g.MayGive(&Decision{By: name, Verdict: v}, at)
}

// mayVote checks the rules of a quorum: each person votes once, the requester does not.
// A delegate counts as the person they are, and has no vote if the requester chose them.
func (g *Gate) mayVote(d *Decision, right Decider) error {
	if slices.ContainsFunc(right.Via, g.Excluded) {
		return &Error{Code: CodeForbidden, Message: d.By + " was given this vote by somebody who asked for it", Hint: ownRequestHint}
	}
	for _, name := range []string{d.By, d.Actor} {
		switch v := g.Voted(name); {
		case v != nil:
			return &Error{
				Code: CodeVoted, Decision: v, Message: name + " has voted on gate " + string(g.ID) + " already: " + string(v.Verdict),
				Hint: "somebody else has to vote",
			}
		case name != "" && g.Excluded(name):
			return &Error{Code: CodeForbidden, Message: name + " asked for this and has no vote on it", Hint: "cancel it to withdraw it"}
		}
	}
	return nil
}

// A Delegation hands the right to decide a gate to somebody else.
type Delegation struct {
	By     string // who has the right; required
	To     string // who shall have it; required
	Actor  string // who sent it, when an operator acts for By
	Reason string // at most 4,000 bytes
}

// Validate checks the names and the reason; [ErrInvalid].
func (d *Delegation) Validate() error {
	if err := CheckDecider("by", d.By); err != nil {
		return err
	}
	if err := CheckNamed("to", d.To, "to whom"); err != nil {
		return err
	}
	if len(d.Reason) > MaxText || !text.IsUTF8(d.Reason) {
		return Invalid("reason", "must be at most %d bytes of text", MaxText)
	}
	return CheckPerson("actor", d.Actor)
}

// NotAssigned returns the error of a person without a right. It names who has their
// right now, if they handed it on.
func (g *Gate) NotAssigned(name string) error {
	hint := "ask one of its assignees"
	for _, a := range g.Assignments {
		if a.By == name && !a.Escalation {
			hint = "it was handed to " + a.To[0]
		}
	}
	return &Error{Code: CodeForbidden, Message: name + " is not among those this gate is assigned to", Hint: hint}
}

// MayAskAgain returns why [ledger.Ledger.AskAgain] would refuse the gate, as far as the
// gate itself shows, or nil.
func (g *Gate) MayAskAgain(now time.Time) error {
	if g.Lapsed(now) {
		return nil
	}
	return g.CheckAskAgain()
}

// Lapsed reports whether a question to people passed its deadline (ExpiresAt) without a decision. It
// is false for other waits. It says nothing about ValidFor, which [Gate.PastValidity] compares.
func (g *Gate) Lapsed(now time.Time) bool {
	return g.Decision == nil && g.AsksPeople() && !g.ExpiresAt.IsZero() && !now.Before(g.ExpiresAt)
}

// CheckAskAgain returns why a question must not be asked again, or nil.
func (g *Gate) CheckAskAgain() error {
	switch d := g.Decision; {
	case !g.AsksPeople():
		return Invalid("gate", "%s waits for a %s and asks nobody", g.ID, g.Kind)
	case d == nil:
		return &Error{
			Code: CodeConflict, Message: "gate " + string(g.ID) + " is open", Hint: "decide it: posthouse approve " + string(g.ID),
		}
	case d.Successor != "":
		return g.Replaced(d.Successor)
	case d.Verdict != Expire && d.Verdict != Cancel:
		return &Error{
			Code: CodeDecided, Decision: d, Message: "gate " + string(g.ID) + " was decided: " + string(d.Verdict) + " by " + d.By,
			Hint: "the decision stands; replay the checkpoint " + string(g.Checkpoint) + " to ask again in a fork",
		}
	}
	return nil
}

// Replaced returns the error of a gate that another one has replaced.
func (g *Gate) Replaced(by ID) error {
	return &Error{
		Code: CodeConflict, Gate: by, Message: "gate " + string(g.ID) + " was asked again", Hint: "look at gate " + string(by) + ", which asks in its place",
	}
}
