package deciders

import (
	"time"

	"github.com/posthouse/posthouse"
)

// MayAskAgain returns why [ledger.Ledger.AskAgain] would refuse the gate, as far as the
// gate itself shows, or nil.
func MayAskAgain(g *posthouse.Gate, now time.Time) error {
	if g.Lapsed(now) {
		return nil
	}
	return CheckAskAgain(g)
}

// CheckAskAgain returns why a question must not be asked again, or nil.
func CheckAskAgain(g *posthouse.Gate) error {
	switch d := g.Decision; {
	case !g.AsksPeople():
		return posthouse.Invalid("gate", "%s waits for a %s and asks nobody", g.ID, g.Kind)
	case d == nil:
		return &posthouse.Error{
			Code: posthouse.CodeConflict, Message: "gate " + string(g.ID) + " is open", Hint: "decide it: posthouse approve " + string(g.ID),
		}
	case d.Successor != "":
		return g.Replaced(d.Successor)
	case d.Verdict != posthouse.Expire && d.Verdict != posthouse.Cancel:
		return &posthouse.Error{
			Code: posthouse.CodeDecided, Decision: d, Message: "gate " + string(g.ID) + " was decided: " + string(d.Verdict) + " by " + d.By,
			Hint: "the decision stands; replay the checkpoint " + string(g.Checkpoint) + " to ask again in a fork",
		}
	}
	return nil
}

// RemindAgain returns when a question that is asked again reminds people: as long after it is asked
// as the first time.
func RemindAgain(g *posthouse.Gate, now time.Time) (at []time.Time) {
	for _, t := range g.Remind {
		at = append(at, posthouse.ToMillis(now.Add(t.Sub(g.CreatedAt))))
	}
	return at
}
