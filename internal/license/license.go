package license

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/deciders"
	"github.com/posthouse/posthouse/grants"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/effect"
	"github.com/posthouse/posthouse/internal/handler"
)

// Questions are what people are asked within an effect.
type Questions interface {
	// Asked returns the number of a question among those of its content, and whether people
	// were asked it before. It does not count as asking.
	Asked(ctx context.Context, q posthouse.Gate) (n uint32, before bool)

	// Ask returns the gate of a question with its decision, [posthouse.ErrWaiting] until then.
	Ask(ctx context.Context, q posthouse.Gate) (*posthouse.Gate, error)

	// Await returns [posthouse.ErrWaiting] while a question on record is open, nil once it is decided.
	Await(ctx context.Context, gate posthouse.ID) error
}

// Never returns why a gate can never license an effect, nil if it may.
func Never(g *posthouse.Gate) error {
	refuse := func(format string, args ...any) error {
		return &posthouse.Error{
			Code: posthouse.CodeForbidden, Field: "grant", Decision: g.Decision,
			Message: fmt.Sprintf("gate %s licenses no effect: ", g.ID) + fmt.Sprintf(format, args...), Hint: "propose it (gate.Propose)",
		}
	}
	switch {
	case g.Decision == nil:
		return refuse("it is not decided")
	case g.Bind == posthouse.ByName || g.Uses == 0:
		return refuse("it was not put by gate.Propose")
	case !g.Decision.Verdict.IsYes():
		return refuse("the answer is %s, by %s", g.Decision.Verdict, g.Decision.By)
	}
	return nil
}

// Here returns why a decision licenses no effect on a branch, nil if it may. It was given
// elsewhere, or for no effects. A refusal counts anywhere.
func Here(g *posthouse.Gate, thread, branch string) error {
	refuse := func(message string) error {
		return &posthouse.Error{Code: posthouse.CodeForbidden, Message: message, Hint: "it is asked for again here"}
	}
	switch v := g.Decision.Verdict; {
	case !v.IsYes():
		return nil
	case g.Uses == 0 || g.Bind == posthouse.ByName:
		return refuse("gate " + string(g.ID) + " was asked without a license for effects")
	case g.Origin != "":
		return refuse("gate " + string(g.ID) + " is a copy of " + string(g.Origin) + ", to be read")
	case g.Thread != thread || g.Branch != branch:
		return refuse("the decision was given on branch " + g.Branch + " of thread " + g.Thread)
	}
	return nil
}

// Stale returns why a decision does not hold on a branch now, nil if it does. It may be of
// another branch, thread, store or released version, be past its validity, or be refused by the
// Ledger's policy. u is the effect that is to run: that people had it done again renews the validity. err
// says that the thread could not be read.
func Stale(ctx context.Context, c *commit.Committer, g *posthouse.Gate, thread, branch string, u *effect.Use) (why, err error) {
	if why := Here(g, thread, branch); why != nil {
		return why, nil
	}
	info, err := c.Logs.Thread(ctx, thread)
	if err != nil {
		return nil, err
	}
	if g.Seq < info.First {
		return &posthouse.Error{Code: posthouse.CodeForbidden, Message: "gate " + string(g.ID) + " belongs to a released version of thread " + thread}, nil
	}
	if Imported(info, g, u) {
		return &posthouse.Error{
			Code: posthouse.CodeForbidden, Message: "gate " + string(g.ID) + " was answered before thread " + thread + " was imported: its approval may be used in the store that it comes from",
		}, nil
	}
	if until := u.ValidUntil(g); !until.IsZero() && c.Now().After(until) {
		return &posthouse.Error{Code: posthouse.CodeExpired, Message: "the approval by " + g.Decision.By + " was good until " + until.Format(time.RFC3339)}, nil
	}
	return c.Rules.Reconsider(g), nil
}

// Current returns the gate with the decision that applies now: the grant's, or that of the
// question that asked again about the same content. stale says why a decision does not hold. Its
// err says that this is unknown; then no question is asked again.
func Current(ctx context.Context, q Questions, r *Reader, g *posthouse.Gate, stale func(*posthouse.Gate) (why, err error)) (*posthouse.Gate, error) {
	for {
		why, err := stale(g)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			return nil, err
		}
		asks, err := r.again(ctx, g, why)
		if err != nil {
			return nil, err
		}
		if _, asked := q.Asked(ctx, asks); why == nil && !asked { // what is with people stays with them
			return g, nil
		}
		next, err := q.Ask(ctx, asks)
		if err != nil {
			return nil, err
		}
		if err := Never(next); err != nil {
			return nil, err
		}
		g = next
	}
}

// A Reader reads what questions within an effect depend on.
type Reader struct {
	Now  func() time.Time
	Gate func(ctx context.Context, id posthouse.ID) (*posthouse.Gate, error) // [posthouse.ErrNotFound]
}

// maxEdits bounds how far back a Reader looks for an edit.
const maxEdits = 100

// ofEdit reports whether a gate is about what somebody made of a question: it was edited itself, or
// asks in the place of one that was.
func (r *Reader) ofEdit(ctx context.Context, g *posthouse.Gate) (bool, error) {
	for range maxEdits {
		switch {
		case g.Decision != nil && g.Decision.Verdict == posthouse.Edit:
			return true, nil
		case g.Supersedes == "":
			return false, nil
		}
		before, err := r.Gate(ctx, g.Supersedes)
		if errors.Is(err, posthouse.ErrNotFound) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		g = before
	}
	return false, nil
}

// escalation returns when others come in where a gate's content is asked about again: as long
// after the question as it was with the gate. An edited content counts from when the first was
// asked.
func (r *Reader) escalation(ctx context.Context, g *posthouse.Gate) (*posthouse.Escalation, error) {
	e := g.Escalation
	if e == nil {
		return nil, nil
	}
	edited, err := r.ofEdit(ctx, g)
	if err != nil {
		return nil, err
	}
	at := e.At
	if !edited {
		at = r.Now().Add(e.At.Sub(g.CreatedAt))
	}
	return &posthouse.Escalation{At: at, To: slices.Clone(e.To), Replace: e.Replace}, nil
}

// again is the question about what a gate licenses: yes or no. An edit would
// escape the rules of the question that proposed it.
func (r *Reader) again(ctx context.Context, g *posthouse.Gate, why error) (q posthouse.Gate, err error) {
	q = posthouse.Gate{
		Name: g.Name[strings.LastIndex(g.Name, handler.Nested)+1:], Kind: g.Kind, Text: g.Text, Payload: g.Licensed(), Verdicts: []posthouse.Verdict{posthouse.Approve, posthouse.Reject},
		Assignees: slices.Clone(g.Assignees), RequestedBy: g.RequestedBy, Requesters: slices.Clone(g.Requesters), AllowRequest: g.AllowRequest, Labels: g.Labels,
		Quorum: g.Quorum, Uses: g.Uses, ValidFor: g.ValidFor, Supersedes: g.ID,
	}
	if why != nil {
		q.Note = Clip("asked again: " + why.Error())
	}
	if !g.ExpiresAt.IsZero() {
		q.ExpiresAt = r.Now().Add(g.ExpiresAt.Sub(g.CreatedAt))
	}
	q.Remind = deciders.RemindAgain(g, r.Now())
	q.Escalation, err = r.escalation(ctx, g)
	return q, err
}

// Clip cuts a note to what a gate takes.
func Clip(s string) string {
	if len(s) > posthouse.MaxText {
		s = s[:posthouse.MaxText]
	}
	return strings.ToValidUTF8(s, "")
}

// SameContent reports whether two gates license the same JSON.
func SameContent(a, b *posthouse.Gate) bool {
	of := func(g *posthouse.Gate) []byte {
		data := g.Licensed()
		c, err := posthouse.CanonicalJSON(data)
		if err != nil {
			return data
		}
		return c
	}
	return bytes.Equal(of(a), of(b))
}

// Conflict is the error of an effect that ran on other content than a grant licenses.
func Conflict(effect string, before *posthouse.Gate, grant posthouse.ID) error {
	return &posthouse.Error{
		Code: posthouse.CodeConflict, Field: "content", Gate: before.ID, Decision: before.Decision,
		Message: fmt.Sprintf("effect %s ran on what gate %s licensed, and gate %s licenses something else", effect, before.ID, grant),
		Hint:    "a recorded effect never runs again: act under another name, or fork from before it",
	}
}

// Strayed is the error of an effect's function that waits with a context from outside of it.
func Strayed(effect string) error {
	return &posthouse.Error{
		Code: posthouse.CodeInvalid, Field: "fn", Message: "of effect " + effect + " says that it waits, and nothing within it does",
		Hint: "give what waits the context that gate.Act passes to the function",
	}
}

// Refused is the error of a question that was not answered with a yes.
func Refused(g *posthouse.Gate) error {
	d := g.Decision
	e := &posthouse.Error{
		Code: posthouse.CodeForbidden, Decision: d, Gate: g.ID, Message: "question " + g.Name + " was answered with " + string(g.Said(d.Verdict)) + " by " + d.By,
		Hint: "nothing was done",
	}
	switch d.Verdict {
	case posthouse.Expire:
		e.Code, e.Message = posthouse.CodeExpired, "nobody decided question "+g.Name+" in time"
		e.Hint = "ask it again (posthouse ask-again " + string(g.ID) + ")"
	case posthouse.Cancel:
		e.Code = posthouse.CodeCancelled
	}
	if g.Said(d.Verdict) == posthouse.GiveUp {
		e.Hint = "it may have been done, and is not done again"
	}
	if d.Reason != "" {
		e.Message += ": " + d.Reason
	}
	return e
}

// MayBegin returns why an effect may not begin under a gate: as many others as it licenses
// have, or the effect is on record there and not where the execution stands. uses are all of the
// gate, known is how many attempts of the effect the execution has on record.
func MayBegin(g *posthouse.Gate, uses []grants.Use, task, effect string, known uint32) error {
	var others []*grants.Use
	for i := range uses {
		u := &uses[i]
		if u.Task != task || handler.Call(u.Name, u.Occurrence) != effect {
			others = append(others, u)
			continue
		}
		if u.Status == grants.Executed || known == 0 && u.Status != grants.Decided {
			return &posthouse.Error{
				Code: posthouse.CodeForbidden, Decision: g.Decision,
				Message: "effect " + effect + " is on record under gate " + string(g.ID) + ", in entry " + strconv.FormatUint(u.Seq, 10) + ", and not where the thread stands now",
				Hint:    "find out what became of it; to do it again, propose it again",
			}
		}
	}
	if len(others) < g.Uses {
		return nil
	}
	return &posthouse.Error{
		Code: posthouse.CodeForbidden, Decision: g.Decision,
		Message: "the decision of gate " + string(g.ID) + " licensed " + strconv.Itoa(g.Uses) + " effect(s), and " + taken(others),
		Hint:    "propose it again: each effect needs a decision of its own",
	}
}

// taken says what became of the effects that a decision's uses went to. One that did not act has
// its use all the same: its next attempt goes on under it.
func taken(uses []*grants.Use) string {
	var left []string
	for _, u := range uses {
		switch name := handler.Call(u.Name, u.Occurrence); u.Status {
		case grants.Executed:
		case grants.Decided:
			left = append(left, name+" did not act")
		default:
			left = append(left, name+" has no outcome on record")
		}
	}
	switch ran := len(uses) - len(left); {
	case len(left) == 0:
		return "as many ran"
	case ran == 0:
		return "as many began: " + strings.Join(left, ", ")
	default:
		return fmt.Sprintf("as many began: %d ran, %s", ran, strings.Join(left, ", "))
	}
}
