package posthouse

import "time"

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
