package threadlog

import (
	"testing"

	"github.com/posthouse/posthouse"
)

// A wait that was opened again and withdrawn takes what it had before along: a task's failure
// does not come back.
func TestWithoutGatesDropsWhatWasOpenedAgain(t *testing.T) {
	failed := &posthouse.Decision{Verdict: posthouse.Reject, By: "w"}
	all := []*posthouse.Gate{
		{ID: "1", Name: "pay", Kind: posthouse.GateTask, Decision: failed},
		{ID: "2", Name: "other", Kind: posthouse.GateTask, Decision: failed},
		{ID: "3", Name: "late", Kind: posthouse.GateTask},
		{ID: "4", Name: "pay", Kind: posthouse.GateTask},
		{ID: "5", Name: "late", Kind: posthouse.GateTask, Decision: failed},
		{ID: "6", Name: "pay", Kind: posthouse.GateTask, Task: "another", Decision: failed},
		{ID: "7", Name: "ask", Kind: posthouse.GateApproval, Decision: failed},
		{ID: "8", Name: "ask", Kind: posthouse.GateApproval},
	}
	got := ""
	for _, g := range WithoutGates(all, (*posthouse.Gate).Unanswered) {
		got += string(g.ID)
	}
	if got != "2567" {
		t.Errorf("%s stay, want 2567", got)
	}
}
