package commit

import (
	"bytes"
	"slices"

	"github.com/posthouse/posthouse"
)

// CheckReuse returns nil if an earlier gate's decision, about the same content, answers g.
// Otherwise it returns the reason why not.
//
// A rejection, a withdrawal and an expiry answer, whatever g allows. An approval, edit or response
// answers if g allows its verdict and its value satisfies g's schema. Also, g must not
// have a stricter quorum, a stricter requester rule, or license fewer effects or a
// shorter time. Assignees do not matter: a decision that was right when it was given
// stays. So does one of a person who became a requester later. The value is checked again only if the
// schema has changed.
// For a Ledger with a key a decision that has no signature answers nothing, if its question has a signature.
func (r *Rules) CheckReuse(g, earlier *posthouse.Gate) error {
	d := earlier.Decision
	if err := r.unsigned(earlier); err != nil {
		return err
	}
	switch {
	case d == nil:
		return posthouse.ErrWaiting
	case d.Verdict.IsNo():
		return nil
	case !g.Allows(d.Verdict):
		return posthouse.Invalid("verdict", "%s is not among those allowed now: %v", d.Verdict, g.Verdicts)
	case g.Quorum != nil && (earlier.Quorum == nil || earlier.Quorum.Need < g.Quorum.Need):
		return posthouse.Invalid("quorum", "of %d is needed now", g.Quorum.Need)
	case g.Uses > 0 && earlier.Uses > g.Uses:
		return posthouse.Invalid("uses", "are at most %d now", g.Uses)
	case g.ValidFor > 0 && (earlier.ValidFor == 0 || earlier.ValidFor > g.ValidFor):
		return posthouse.Invalid("validFor", "is %s now", g.ValidFor)
	}
	for _, name := range decidersOf(earlier) {
		if earlier.Requests(name) && g.BarsRequesters() || g.Record.Named && earlier.SamePerson(name, g.RequestedBy) && g.BarsRequesters() {
			return posthouse.Invalid("by", "%s asks for this now and cannot have approved it", name)
		}
	}
	return r.checkValue(g, earlier)
}

// decidersOf returns the names of all who took part in a gate's decision.
func decidersOf(g *posthouse.Gate) []string {
	names := []string{g.Decision.By, g.Decision.Actor}
	for i := range g.Votes {
		names = append(names, g.Votes[i].By, g.Votes[i].Actor)
	}
	return names
}

// checkValue checks the value of an earlier decision against a schema that has changed.
func (r *Rules) checkValue(g, earlier *posthouse.Gate) error {
	value := earlier.Decision.Value
	if len(g.Schema) == 0 || len(value) == 0 || SameJSON(g.Schema, earlier.Schema) {
		return nil
	}
	if r.Validate == nil {
		return UncheckedError(g)
	}
	return r.Validate(g.Schema, value)
}

// SameJSON reports whether two texts are the same JSON.
func SameJSON(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	x, errX := posthouse.CanonicalJSON(a)
	y, errY := posthouse.CanonicalJSON(b)
	return errX == nil && errY == nil && slices.Equal(x, y)
}
