package posthouse

import (
	"bytes"
	"slices"
)

// Counts reports whether the decision of an earlier gate, which asked the same,
// answers g as it would be put now: nil if it does, and otherwise why it does not.
// A rejection, a withdrawal and a deadline that passed always do. An approval,
// edit or response does if its verdict is allowed now, its value satisfies the
// schema now, and neither quorum nor requester rules are stricter than they were,
// nor how many effects it licenses and for how long.
// Who is assigned now does not matter: what was rightly given stands. A value is
// checked again only where the schema has changed.
func (l *Core) Counts(g, earlier *Gate) error {
	d := earlier.Decision
	switch {
	case d == nil:
		return ErrWaiting
	case d.Verdict == Reject || d.Verdict == Cancel || d.Verdict == Expire:
		return nil
	case !g.Allows(d.Verdict):
		return invalid("verdict", "%s is not among those allowed now: %v", d.Verdict, g.Verdicts)
	case g.Quorum != nil && (earlier.Quorum == nil || earlier.Quorum.Need < g.Quorum.Need):
		return invalid("quorum", "of %d is needed now", g.Quorum.Need)
	case g.Uses > 0 && earlier.Uses > g.Uses:
		return invalid("uses", "are at most %d now", g.Uses)
	case g.ValidFor > 0 && (earlier.ValidFor == 0 || earlier.ValidFor > g.ValidFor):
		return invalid("validFor", "is %s now", g.ValidFor)
	}
	for _, name := range earlier.hands() {
		if name != "" && g.excluded(name) {
			return invalid("by", "%s asks for this now and cannot have approved it", name)
		}
	}
	return l.checkValue(g, earlier)
}

// hands returns whose hands were on a gate's decision.
func (g *Gate) hands() []string {
	names := []string{g.Decision.By, g.Decision.Actor}
	for i := range g.Votes {
		names = append(names, g.Votes[i].By, g.Votes[i].Actor)
	}
	return names
}

// checkValue checks the value of an earlier decision against a schema that has
// changed since.
func (l *Core) checkValue(g, earlier *Gate) error {
	value := earlier.Decision.Value
	if len(g.Schema) == 0 || len(value) == 0 || sameJSON(g.Schema, earlier.Schema) {
		return nil
	}
	if l.opt.Validate == nil {
		return unchecked(g)
	}
	return l.opt.Validate(g.Schema, value)
}

// sameJSON reports whether two texts are the same JSON.
func sameJSON(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	x, errX := CanonicalJSON(a)
	y, errY := CanonicalJSON(b)
	return errX == nil && errY == nil && slices.Equal(x, y)
}

// Withdrawn reports whether a gate was cancelled because its branch went on
// without it or asked again: nobody decided it, and it is no answer.
func (g *Gate) Withdrawn() bool {
	return g.Decision != nil && g.Decision.Verdict == Cancel && g.Decision.By == byLedger
}
