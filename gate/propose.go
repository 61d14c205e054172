package gate

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/handler"
	"github.com/posthouse/posthouse/internal/license"
)

// A Grant is the id of a gate that licenses effects by its decision. [Propose] returns
// it and [Act] takes it. It may be kept in the state.
type Grant posthouse.ID

// maxEdits bounds how often an edit may be judged again.
const maxEdits = 100

// Propose shows content to people and returns a grant once they approve it, as it
// is or edited. Until then it returns [posthouse.ErrWaiting]. [Act] runs on what
// was approved, not on the state.
//
// The question's verdicts are approve, reject and edit unless it names fewer; respond is
// not allowed, and Show must be empty. A decision counts for this content, on the branch
// where it was given: a fork proposes again. Content that changes when it is read back
// from its JSON is [posthouse.ErrInvalid]. An edit is new content, judged again by the
// question's rules and its guards. If those ask for more than the decision brought, the
// edited content is proposed in turn. An edit that does not read as a T, exactly as it is written,
// is refused when it is given; one that is on record nevertheless, since another process took it or
// the type has changed, is asked again. See [ProposeFor] for rules that depend on the
// content.
//
// A rejection is [posthouse.ErrForbidden], a deadline that passed
// [posthouse.ErrExpired], a withdrawal [posthouse.ErrCancelled]: Error.Decision says
// who and why. Other errors are those of [Ask].
//
// In the handler of a worker its engine asks, once the handler has returned that error. Its
// requesters are those of the run: RequestedBy and AllowRequester are ErrInvalid there, and
// Auto is [posthouse.ErrUnsupported].
func Propose[T any](ctx context.Context, q Question, content T) (Grant, error) {
	return ProposeFor(ctx, content, func(T) Question { return q })
}

// ProposeFor is [Propose] with a question that depends on the content. An edit is
// judged by the rules of the edited content: an amount raised beyond a limit
// needs that amount's quorum.
func ProposeFor[T any](ctx context.Context, content T, question func(content T) Question) (Grant, error) {
	if h, ok := handler.From(ctx); ok {
		return proposeInHandler(ctx, h, content, question)
	}
	task, err := engine.TaskOf(ctx, "gate.Propose")
	if err != nil {
		return "", err
	}
	note, edited := "", posthouse.ID("") // of the gate with the proposed edit
	var first *posthouse.Gate            // that was edited
	for range maxEdits {
		q, g, err := proposal(ctx, task, content, question)
		if err != nil {
			return "", err
		}
		sinceFirst(&q, &g, first)
		g.Note, g.Supersedes = note, edited
		if note != "" {
			q.Auto = q.Auto.afterPeople()
		}
		task.Gates().Expect(ctx, g, readsEdit[T])
		decided, err := q.decided(ctx, task, g)
		if err != nil {
			return "", err
		}
		switch decided.Decision.Verdict {
		case posthouse.Approve:
			return Grant(decided.ID), nil
		case posthouse.Edit:
		default:
			return "", license.Refused(decided)
		}
		if first == nil {
			first = decided
		}
		settled, replaced, err := task.Gates().OfEdit(ctx, decided)
		if err != nil {
			return "", err
		}
		read, unread := licensed[T](decided)
		if unread != nil && settled != nil { // an effect ran on it
			return "", unread
		}
		if unread != nil {
			note, edited = unreadEdit(decided, unread), decided.ID
			continue
		}
		content = read
		if settled != nil { // an edit is judged once
			return Grant(settled.ID), nil
		}
		g, why, err := judgeEdit(ctx, task, first, decided, content, question)
		if err != nil {
			return "", err
		}
		edited = decided.ID
		if replaced {
			edited, why = "", posthouse.Invalid("content", "was judged before")
		}
		if why == nil {
			if license.SameRule(&g, decided) {
				return Grant(decided.ID), nil
			}
			settled, err = task.Gates().RecordDecided(ctx, license.EditDecided(g, decided), nil)
			if err != nil {
				return "", err
			}
			return Grant(settled.ID), nil
		}
		note = license.ProposedAgain(decided, why)
	}
	return "", posthouse.Invalid("content", "was edited more than %d times", maxEdits)
}

// proposal returns the question about a content. Without a task it is that of a handler.
func proposal[T any](ctx context.Context, task *engine.Task, content T, question func(T) Question) (q Question, g posthouse.Gate, err error) {
	q = question(content)
	answers := slices.IndexFunc(q.Verdicts, posthouse.Verdict.IsAnswer)
	switch several := q.Quorum != nil || q.FourEyes; {
	case q.Show != nil:
		return q, g, posthouse.Invalid("Show", "of question %.40q is the content that is proposed; leave it out", q.Name)
	case q.Bind != posthouse.ByContent:
		return q, g, posthouse.Invalid("Bind", "of question %.40q is by name, and such an answer licenses no effect", q.Name)
	case q.Uses < 0 || q.ValidFor < 0:
		return q, g, posthouse.Invalid("Uses", "and ValidFor of question %.40q must not be negative", q.Name)
	case answers >= 0:
		return q, g, posthouse.Invalid("Verdicts", "of question %.40q has %s, which licenses nothing", q.Name, q.Verdicts[answers])
	case len(q.Verdicts) == 0 && several:
		q.Verdicts = posthouse.VoteVerdicts()
	case len(q.Verdicts) == 0:
		q.Verdicts = slices.DeleteFunc(posthouse.GateVerdicts(), posthouse.Verdict.IsAnswer)
	}
	q.Show = content
	if task != nil {
		g, err = q.asGate(ctx, task, reflect.TypeFor[T]())
	} else {
		g, err = q.gate(reflect.TypeFor[T](), handler.Epoch)
	}
	if err != nil {
		return q, g, err
	}
	if _, err := read[T](g.Payload, false); err != nil {
		return q, g, &posthouse.Error{
			Code: posthouse.CodeInvalid, Field: "content", Err: err, Message: "of question " + q.Name + " would not run as it is shown",
			Hint: "propose a type that its JSON says all of: numbers in fields of their own type, no decoder that makes more of it",
		}
	}
	g.Uses, g.ValidFor = max(1, q.Uses), q.ValidFor
	return q, g, nil
}

// judgeEdit returns the question about edited content, and why a decision is not enough for
// it, nil if it is. Those who decided must be among its people, in their own right; what the
// edited question was delegated to counts for nothing there.
func judgeEdit[T any](ctx context.Context, task *engine.Task, first, decided *posthouse.Gate, edited T, question func(T) Question) (g posthouse.Gate, why, err error) {
	q, g, err := proposal(ctx, task, edited, question)
	if err != nil {
		return g, nil, err
	}
	sinceFirst(&q, &g, first)
	if _, before := task.Gates().Asked(ctx, g); before {
		return g, posthouse.Invalid("content", "was judged before"), nil
	}
	if why := license.JudgeEdit(task.Session().Ledger().Core(), &g, decided); why != nil {
		return g, why, nil
	}
	if q.Auto == nil {
		return g, nil, nil
	}
	d, judged := *decided.Decision, g
	d.Verdict, judged.Verdicts = posthouse.Approve, append(slices.Clone(g.Verdicts), posthouse.Edit)
	why = q.Auto.guard(ctx, &judged, &d)
	return g, why, ctx.Err()
}

// readsEdit returns why an edit is not a content of Propose.
func readsEdit[T any](v posthouse.Verdict, value json.RawMessage) error {
	if v != posthouse.Edit {
		return nil
	}
	_, err := read[T](value, true)
	return err
}

// unreadEdit is the note of a question that is asked again, since its edit does not say what
// would run.
func unreadEdit(decided *posthouse.Gate, why error) string {
	if e, ok := errors.AsType[*posthouse.Error](why); ok && e.Err != nil {
		why = e.Err
	}
	return license.Clip("asked again: the edit by " + decided.Decision.By + " does not say what would run: " + why.Error())
}

// sinceFirst has a question about edited content escalate from when the first was asked.
func sinceFirst(q *Question, g, first *posthouse.Gate) {
	if e := q.Escalate; e != nil && first != nil {
		g.Escalation.At = first.CreatedAt.Add(e.After)
	}
}

// licensed returns the content of a decision: what was shown, or the edit.
func licensed[T any](g *posthouse.Gate) (content T, err error) {
	edited := g.Decision != nil && g.Decision.Verdict == posthouse.Edit
	content, err = read[T](g.Licensed(), edited)
	if err == nil {
		return content, nil
	}
	e := &posthouse.Error{
		Code: posthouse.CodeInvalid, Field: "content", Err: err,
		Message: "of gate " + string(g.ID) + " is not a " + reflect.TypeFor[T]().String(),
		Hint:    "the type has changed since it was approved: propose it again",
	}
	if edited {
		e.Hint = "the edit does not say what would run: the question is asked again"
	}
	return content, e
}
