package commit

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/effect"
)

// OutcomeQuestion is the question to people about attempts of an effect, which began under a gate's
// decision and may have happened. Its people are those of that gate.
func OutcomeQuestion(name string, under *posthouse.Gate, attempts int, payload json.RawMessage) posthouse.Gate {
	by := "nobody"
	if under.Decision != nil {
		by = under.Decision.By
	}
	return posthouse.Gate{
		Name: effect.OutcomeName(attempts), Kind: posthouse.GateOutcome, Payload: payload,
		Text: fmt.Sprintf("It is not known whether %s was done.\nIt was attempt %d, approved by %s in %s. "+
			"Answer happened, with its result, if it was done; redo only if it was not and is to be done now; give-up to leave it permanently.", name, attempts, by, under.ID),
		Verdicts: posthouse.SettleVerdicts(), Attempt: &posthouse.Attempt{Effect: name, Number: attempts, Under: under.ID},
		RequestedBy: under.RequestedBy, Requesters: slices.Clone(under.Requesters), AllowRequest: under.AllowRequest,
		Assignees: slices.Clone(under.Assignees), Quorum: under.Quorum,
		Record: posthouse.GateRecord{Settles: true},
	}
}
