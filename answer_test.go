package posthouse_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
)

// TestAnswers: each kind of gate says what its answers do. Nothing that may be done twice is a first choice,
// and an unknown outcome says the same in whichever words it is on record.
func TestAnswers(t *testing.T) {
	former := []posthouse.Verdict{posthouse.Approve, posthouse.Reject, posthouse.Respond}
	for name, c := range map[string]struct {
		gate    posthouse.Gate
		verbs   []posthouse.Verdict
		primary posthouse.Verdict
		says    string // among what its answers do
	}{
		"approval":     {posthouse.Gate{}, posthouse.GateVerdicts(), posthouse.Approve, "The program continues as proposed"},
		"session":      {posthouse.Gate{Kind: posthouse.GateSession}, posthouse.GateVerdicts(), posthouse.Approve, "continues without it"},
		"licenses":     {posthouse.Gate{Uses: 1, Verdicts: former[:2]}, former[:2], posthouse.Approve, "What is shown is done;"},
		"three uses":   {posthouse.Gate{Uses: 3, ValidFor: 90 * 24 * time.Hour, Verdicts: former[:2]}, former[:2], posthouse.Approve, "What is shown is done, up to 3 times, within 90 days of the decision;It may be done up to 3 times."},
		"answer":       {posthouse.Gate{Verdicts: former[2:]}, former[2:], posthouse.Respond, "The program continues with your answer"},
		"quorum":       {posthouse.Gate{Quorum: &posthouse.Quorum{Need: 2}, Verdicts: former[:2]}, former[:2], posthouse.Approve, "once 2 more of you have said so"},
		"outcome":      {posthouse.Gate{Name: "pay>outcome", Kind: posthouse.GateOutcome, Verdicts: posthouse.SettleVerdicts()}, posthouse.SettleVerdicts(), "", "it is done twice"},
		"outcome once": {posthouse.Gate{Name: "pay>outcome-2", Kind: posthouse.GateOutcome, Verdicts: former}, posthouse.SettleVerdicts(), "", "it is done twice"},
		"ended thread": {posthouse.Gate{Name: "pay>outcome", Kind: posthouse.GateOutcome, Verdicts: []posthouse.Verdict{posthouse.Happened, posthouse.GiveUp}}, []posthouse.Verdict{posthouse.Happened, posthouse.GiveUp}, "", "it is not done again"},
		"its own kind": {posthouse.Gate{Name: "outcome", Kind: posthouse.GateOutcome, Verdicts: former}, former, posthouse.Approve, "continues"},
	} {
		t.Run(name, func(t *testing.T) {
			var verbs []posthouse.Verdict
			var says strings.Builder
			primary := posthouse.Verdict("")
			for _, a := range c.gate.Answers() {
				verbs = append(verbs, a.Verdict)
				says.WriteString(a.Does + ";" + a.Risk)
				if a.Primary {
					primary = a.Verdict
				}
				if a.Label == "" || a.Does == "" || (a.Value != "") != a.Verdict.TakesValue() || a.Page != (a.Verdict == posthouse.Redo) {
					t.Errorf("answer %+v", a)
				}
			}
			if !slices.Equal(verbs, c.verbs) || primary != c.primary || !strings.Contains(says.String(), c.says) {
				t.Errorf("verbs %v, first %q, says %q", verbs, primary, says.String())
			}
		})
	}
}
