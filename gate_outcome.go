package posthouse

import (
	"encoding/json"
	"slices"
	"strings"
)

// An Attempt is what the question about an unknown outcome is about: one attempt of an effect.
type Attempt struct {
	Effect string `json:"effect"` // the call, as in "pay" or "pay[1]"
	Number int    `json:"number"` // from 1
	Under  ID     `json:"under"`  // the gate that licensed it

	// Said is what the worker of its task replied, which does not fit what the program reads. It is where
	// the result of [Happened] may begin. At most 64 KiB; empty if there was no such reply.
	Said json.RawMessage `json:"said,omitempty"`
}

// formerOutcome are the verdicts of the question about an unknown outcome before it had its own, and
// what they say in today's words. On record such a question keeps its verdicts.
var formerOutcome = map[Verdict]Verdict{Approve: Redo, Reject: GiveUp, Respond: Happened}

// AsksOutcome reports whether the runtime asks with the gate about an effect with an unknown outcome.
// People answer it with [Happened], [Redo] or [GiveUp].
func (g *Gate) AsksOutcome() bool { return g.settles() || g.asksFormerly() }

func (g *Gate) settles() bool {
	return slices.ContainsFunc(g.Verdicts, func(v Verdict) bool { return v.rules().Settle })
}

// asksFormerly reports whether the gate asks about an unknown outcome as versions before format 6 did. A
// program's own question of that kind has another name, or other verdicts.
func (g *Gate) asksFormerly() bool {
	return g.Kind == GateOutcome && g.Uses == 0 && isOutcomeName(g.Name) && slices.Equal(g.Verdicts, []Verdict{Approve, Reject, Respond})
}

// isOutcomeName reports whether a question's name is that of the runtime's about an effect.
func isOutcomeName(name string) bool {
	at := strings.LastIndexByte(name, '>')
	last := name[at+1:]
	return at > 0 && (last == GateOutcome || strings.HasPrefix(last, GateOutcome+"-"))
}

// Choices returns the verdicts among which people choose. For an unknown outcome these are today's words,
// also if the gate was recorded with those of an earlier version.
func (g *Gate) Choices() []Verdict {
	switch {
	case g.asksFormerly():
		return SettleVerdicts()
	case len(g.Verdicts) == 0:
		return GateVerdicts()
	}
	return slices.Clone(g.Verdicts)
}

// Said returns today's word for a verdict that is on record for the gate. It differs for an unknown outcome
// that an earlier version asked about: "approve" on record is [Redo].
func (g *Gate) Said(v Verdict) Verdict {
	if now := formerOutcome[v]; now != "" && g.asksFormerly() {
		return now
	}
	return v
}

// Said is that of [Gate] for a gate's header.
func (g *GateInfo) Said(v Verdict) Verdict {
	if now := formerOutcome[v]; now != "" && g.Kind == GateOutcome && !g.Settles && isOutcomeName(g.Name) {
		return now
	}
	return v
}

// Recorded returns the verdict that goes on record for the gate if people choose v. It is the inverse of
// [Gate.Said].
func (g *Gate) Recorded(v Verdict) Verdict {
	if v.rules().Settle && g.asksFormerly() {
		for was, now := range formerOutcome {
			if now == v {
				return was
			}
		}
	}
	return v
}

// CheckWord refuses the verdicts of other questions for an unknown outcome, where approve has meant "pay
// again". [ErrConflict] names those that answer it.
func (g *Gate) CheckWord(v Verdict) error {
	if !v.rules().OnGate || !g.AsksOutcome() {
		return nil
	}
	return &Error{
		Code: CodeConflict, Gate: g.ID, Message: "gate " + string(g.ID) + " asks whether an effect was done, which " + string(v) + " does not answer",
		Hint: "answer " + JoinVerdicts(g.Choices(), " or ") + "; " + string(Redo) + " does it again",
	}
}
