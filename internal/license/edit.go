package license

import (
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/deciders"
	"github.com/posthouse/posthouse/internal/base/text"
	"github.com/posthouse/posthouse/internal/commit"
)

// JudgeEdit returns why the decision that edited a gate is not enough for the question about the
// edited content, nil if it is. Those who decided must be among its people, in their own right;
// what the edited question was delegated to counts for nothing there.
func JudgeEdit(c *commit.Committer, g, decided *posthouse.Gate) error {
	if g.Quorum != nil && decided.Quorum == nil {
		return posthouse.Invalid("quorum", "of %d is needed for it", g.Quorum.Need)
	}
	d := decided.Decision
	if _, ok := deciders.Right(g, d.By, d.At); !ok {
		return deciders.NotAssigned(g, d.By)
	}
	if until := d.At.Add(g.ValidFor); g.ValidFor > 0 && c.Now().After(until) {
		return &posthouse.Error{Code: posthouse.CodeExpired, Message: "the edit was good until " + until.Format(time.RFC3339)}
	}
	judged := *g
	judged.Verdicts = append(slices.Clone(g.Verdicts), posthouse.Edit) // it was edited by a question that allowed it
	return c.Rules.CheckReuse(&judged, decided)
}

// SameRule reports whether the question about edited content asks the same people, in the
// same words, as the one that was edited. Then the decision's own gate says all.
func SameRule(g, decided *posthouse.Gate) bool {
	e, was := g.Escalation, decided.Escalation
	if (e == nil) != (was == nil) || e != nil && (e.Replace != was.Replace || !slices.Equal(e.To, was.To) || !posthouse.ToMillis(e.At).Equal(was.At)) {
		return false
	}
	return g.Text == decided.Text && slices.Equal(g.Assignees, decided.Assignees) && g.RequestedBy == decided.RequestedBy &&
		g.AllowRequest == decided.AllowRequest && (g.Quorum == nil) == (decided.Quorum == nil) && g.Uses == decided.Uses && g.ValidFor == decided.ValidFor
}

// EditDecided returns the question about edited content with the decision of whoever edited it.
// Its people are then asked where the content is asked about again.
func EditDecided(g posthouse.Gate, decided *posthouse.Gate) posthouse.Gate {
	d := *decided.Decision
	d.Verdict, d.Value, d.For = posthouse.Approve, nil, ""
	d.Reason = Clip(text.EditedTo(string(decided.ID)) + d.Reason)
	g.Requesters = slices.Clone(decided.Requesters)
	g.Decision, g.Supersedes = &d, decided.ID
	return g
}

// Carries reports whether a gate has the decision that edited another one, see [EditDecided].
func Carries(g, edited *posthouse.Gate) bool {
	d, was := g.Decision, edited.Decision
	return g.Supersedes == edited.ID && d != nil && d.Verdict == posthouse.Approve && d.By == was.By && d.At.Equal(was.At) && SameContent(g, edited)
}

// Replaced returns the error of a gate with an edit that another gate judges.
func Replaced(g *posthouse.Gate, by posthouse.ID) error {
	return &posthouse.Error{
		Code: posthouse.CodeForbidden, Field: "grant", Gate: by, Decision: g.Decision,
		Message: "gate " + string(g.ID) + " was edited, and gate " + string(by) + " is what licenses the edit, if anything does",
		Hint:    "act under the grant that gate.Propose returns now",
	}
}

// ProposedAgain is the note on a question about edited content that is to be decided again.
func ProposedAgain(decided *posthouse.Gate, why error) string {
	return Clip("edited by " + decided.Decision.By + ", and to be decided again: " + why.Error())
}
