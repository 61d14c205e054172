package grants

import (
	"time"

	"github.com/posthouse/posthouse"
)

// An Approval says whether effects may still run under the decision of a gate.
type Approval string

// The states of an approval.
const (
	ApprovalNone   Approval = ""       // it licenses no effect: not decided, refused, an answer of gate.Ask, or a copy
	ApprovalUsable Approval = "usable" // it licenses an effect that has no result on record
	ApprovalLapsed Approval = "lapsed" // the decision is older than ValidFor allows, or than an import of its thread: gate.Act asks again about its content
	ApprovalUsed   Approval = "used"   // as many effects as it licenses have their result on record
	ApprovalEnded  Approval = "ended"  // its version was released, or its branch is gone
)

// Kept reports whether gate.Act may still need the gate: to run an effect under it, to settle
// one with an unknown outcome, or to ask again about its content. Retention removes no such
// gate from a thread that stays.
func (a Approval) Kept() bool { return a == ApprovalUsable || a == ApprovalLapsed }

// ApprovalOf says whether effects may still run under a gate's decision. Uses are the effects
// on record under it, t is the summary of its thread, and now is the Ledger's time. Retention,
// a release and what shows a grant go by this one rule.
//
// An effect with an unknown outcome, or that is known not to have acted, leaves the approval
// usable: the same use may go on. Effects that a fork inherited do not count. An approval does
// not end with its run: the next run on the branch may act under it.
func ApprovalOf(g *posthouse.Gate, uses []Use, t *posthouse.ThreadInfo, now time.Time) Approval {
	if !g.Licenses() {
		return ApprovalNone
	}
	executed := 0
	for i := range uses {
		if uses[i].Status == Executed && uses[i].Branch == g.Branch {
			executed++
		}
	}
	if executed >= g.Uses {
		return ApprovalUsed
	}
	if _, there := t.Branch(g.Branch); !there || g.Seq < t.First || t.Thread != g.Thread {
		return ApprovalEnded
	}
	ended := g.PastValidity(now) || g.Decision.Seq < t.NewestSignal(posthouse.SignalImported)
	if ended && executed == len(uses) {
		return ApprovalLapsed
	}
	return ApprovalUsable
}
