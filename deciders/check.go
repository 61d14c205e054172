package deciders

import (
	"slices"

	"github.com/posthouse/posthouse"
)

// Check reports what is wrong with a gate's rules about people before it opens.
func Check(g *posthouse.Gate) error {
	people := add(nil, g.Assignees)
	if e := g.Escalation; e != nil {
		switch {
		case len(g.Assignees) == 0:
			return posthouse.Invalid("escalation", "needs assignees: without, anyone may decide already")
		case e.At.IsZero() || len(e.To) == 0:
			return posthouse.Invalid("escalation", "must say when, and to whom")
		case !g.ExpiresAt.IsZero() && !e.At.Before(g.ExpiresAt):
			return posthouse.Invalid("escalation", "comes after the gate has expired")
		}
		people = widen(people, e.To, e.Replace)
	}
	q := g.Quorum
	if q == nil {
		return nil
	}
	for _, v := range g.Verdicts {
		if !v.Info().Vote && !v.Info().Settle {
			return posthouse.Invalid("verdicts", "of a quorum are %s, not %s", posthouse.JoinVerdicts(posthouse.VoteVerdicts(), " and "), v)
		}
	}
	n := q.Of
	if len(g.Assignees) > 0 {
		n = len(slices.DeleteFunc(people, func(d Decider) bool { return g.Excluded(d.Name) }))
	}
	if g.AsksOutcome() {
		return nil // it must be asked; the votes are those of the gate that licensed the effect
	}
	switch {
	case q.Need < 2:
		return posthouse.Invalid("quorum", "needs %d approvals; one that needs less than 2 is a plain gate", q.Need)
	case q.Of != 0 && len(g.Assignees) > 0:
		return posthouse.Invalid("quorum", "of %d is given beside assignees, who are counted", q.Of)
	case q.Of < 0 || n > 0 && n < q.Need || len(g.Assignees) > 0 && n < q.Need:
		return posthouse.Invalid("quorum", "needs %d approvals, and %d people are asked", q.Need, n)
	case q.Outvote && n == 0:
		return posthouse.Invalid("quorum", "with Outvote must say how many are asked")
	}
	return nil
}
