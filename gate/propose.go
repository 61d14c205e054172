package gate

import (
	"context"
	"reflect"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/handler"
)

// A Grant is the id of a gate whose decision licenses effects. [Propose] returns it and
// [Act] takes it. It may be kept in the state.
type Grant posthouse.ID

// maxEdits bounds how often an edit may be judged again.
const maxEdits = 100

// Propose shows content to people and returns a grant once they approve it, as it
// is or edited. Until then it returns [posthouse.ErrWaiting]. [Act] runs on what
// was approved, not on the state.
//
// The question's verdicts are approve, reject and edit unless it names fewer; respond is
// not allowed, and Show must be empty. A decision counts for this content, on the branch
// where it was given: a fork proposes anew. Content that changes when it is read back
// from its JSON is [posthouse.ErrInvalid]. An edit is new content, judged again by the
// question's rules and its guards. If those ask for more than the decision brought, the
// edited content is proposed in turn. See [ProposeFor] for rules that depend on the
// content.
//
// A rejection is [posthouse.ErrForbidden], a deadline that passed
// [posthouse.ErrExpired], a withdrawal [posthouse.ErrCancelled]: Error.Decision says
// who and why. In the handler of a worker it is [posthouse.ErrUnsupported]. Other errors
// are those of [Ask].
func Propose[T any](ctx context.Context, q Question, content T) (Grant, error) {
	return ProposeFor(ctx, content, func(T) Question { return q })
}

// ProposeFor is [Propose] with a question that depends on the content. An edit is
// judged by the rules of the edited content: an amount raised beyond a limit
// needs that amount's quorum.
func ProposeFor[T any](ctx context.Context, content T, question func(content T) Question) (Grant, error) {
	task, err := programOf(ctx, "gate.Propose")
	if err != nil {
		return "", err
	}
	note := ""
	var first *posthouse.Gate // that was edited
	for range maxEdits {
		q, g, err := proposal(ctx, task, content, question)
		if err != nil {
			return "", err
		}
		sinceFirst(&q, &g, first)
		if g.Note = note; note != "" {
			q.Auto = q.Auto.afterPeople()
		}
		decided, err := q.decided(ctx, task, g)
		if err != nil {
			return "", err
		}
		switch decided.Decision.Verdict {
		case posthouse.Approve:
			return Grant(decided.ID), nil
		case posthouse.Edit:
		default:
			return "", refused(decided)
		}
		if content, err = licensed[T](decided); err != nil {
			return "", err
		}
		if first == nil {
			first = decided
		}
		g, why, err := judgeEdit(ctx, task, first, decided, content, question)
		if err != nil {
			return "", err
		}
		if why == nil {
			if sameRule(&g, decided) {
				return Grant(decided.ID), nil
			}
			settled, err := settleEdit(ctx, task, g, decided)
			if err != nil {
				return "", err
			}
			return Grant(settled.ID), nil
		}
		note = clip("edited by " + decided.Decision.By + ", and to be decided again: " + why.Error())
	}
	return "", posthouse.Invalid("content", "was edited more than %d times", maxEdits)
}

// programOf returns the task of a program that proposes an effect or runs one. The handler of a
// worker is refused: what it would run is not on record at its engine before it begins.
func programOf(ctx context.Context, what string) (*engine.Task, error) {
	if _, ok := handler.From(ctx); ok {
		return nil, &posthouse.Error{
			Code: posthouse.CodeUnsupported, Field: "context", Message: "of " + what + " is that of a worker's handler",
			Hint: "propose the effect in the program, and hand it out from within gate.Act there (step.Remote, graph.Remote)",
		}
	}
	return engine.TaskOf(ctx, what)
}

func proposal[T any](ctx context.Context, task *engine.Task, content T, question func(T) Question) (q Question, g posthouse.Gate, err error) {
	q = question(content)
	switch several := q.Quorum != nil || q.FourEyes; {
	case q.Show != nil:
		return q, g, posthouse.Invalid("Show", "of question %.40q is the content that is proposed; leave it out", q.Name)
	case q.Bind != posthouse.ByContent:
		return q, g, posthouse.Invalid("Bind", "of question %.40q is by name, and such an answer licenses no effect", q.Name)
	case q.Uses < 0 || q.ValidFor < 0:
		return q, g, posthouse.Invalid("Uses", "and ValidFor of question %.40q must not be negative", q.Name)
	case slices.Contains(q.Verdicts, posthouse.Respond):
		return q, g, posthouse.Invalid("Verdicts", "of question %.40q has respond, which licenses nothing", q.Name)
	case len(q.Verdicts) == 0 && several:
		q.Verdicts = []posthouse.Verdict{posthouse.Approve, posthouse.Reject}
	case len(q.Verdicts) == 0:
		q.Verdicts = []posthouse.Verdict{posthouse.Approve, posthouse.Reject, posthouse.Edit}
	}
	q.Show = content
	if g, err = q.asGate(ctx, task, reflect.TypeFor[T]()); err != nil {
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
	if g.Quorum != nil && decided.Quorum == nil {
		return g, posthouse.Invalid("quorum", "of %d is needed for it", g.Quorum.Need), nil
	}
	d := *decided.Decision
	if _, ok := g.Decider(d.By, d.At); !ok {
		return g, g.NotAssigned(d.By), nil
	}
	if until := d.At.Add(g.ValidFor); g.ValidFor > 0 && task.Session().Ledger().Now().After(until) {
		return g, &posthouse.Error{Code: posthouse.CodeExpired, Message: "the edit was good until " + until.Format(time.RFC3339)}, nil
	}
	judged := g
	judged.Verdicts = append(slices.Clone(g.Verdicts), posthouse.Edit) // it was edited by a question that allowed it
	if why := commit.Counts(task.Session().Ledger().Core(), &judged, decided); why != nil {
		return g, why, nil
	}
	if q.Auto == nil {
		return g, nil, nil
	}
	d.Verdict = posthouse.Approve
	why = q.Auto.guard(ctx, &judged, &d)
	return g, why, ctx.Err()
}

// sinceFirst has a question about edited content escalate from when the first was asked.
func sinceFirst(q *Question, g, first *posthouse.Gate) {
	if e := q.Escalate; e != nil && first != nil {
		g.Escalation.At = first.CreatedAt.Add(e.After)
	}
}

// sameRule reports whether the question about edited content asks the same people, in the
// same words, as the one that was edited. Then the decision's own gate says all.
func sameRule(g, decided *posthouse.Gate) bool {
	e, was := g.Escalation, decided.Escalation
	if (e == nil) != (was == nil) || e != nil && (e.Replace != was.Replace || !slices.Equal(e.To, was.To) || !posthouse.ToMillis(e.At).Equal(was.At)) {
		return false
	}
	return g.Text == decided.Text && slices.Equal(g.Assignees, decided.Assignees) && g.RequestedBy == decided.RequestedBy &&
		g.AllowRequest == decided.AllowRequest && (g.Quorum == nil) == (decided.Quorum == nil) && g.Uses == decided.Uses && g.ValidFor == decided.ValidFor
}

// settleEdit puts the question about edited content on record, with the decision of whoever
// edited it. Its people are then asked where [Act] asks again.
func settleEdit(ctx context.Context, task *engine.Task, g posthouse.Gate, decided *posthouse.Gate) (*posthouse.Gate, error) {
	d := *decided.Decision
	d.Verdict, d.Value, d.For = posthouse.Approve, nil, ""
	d.Reason = clip("edited gate " + string(decided.ID) + " to this. " + d.Reason)
	g.Requesters = slices.Clone(decided.Requesters)
	g.Decision = &d
	return task.Gates().Settle(ctx, g, nil)
}

// licensed returns the content of a decision: what was shown, or the edit.
func licensed[T any](g *posthouse.Gate) (content T, err error) {
	edited := g.Decision != nil && g.Decision.Verdict == posthouse.Edit
	if content, err = read[T](g.Licensed(), edited); err == nil {
		return content, nil
	}
	e := &posthouse.Error{
		Code: posthouse.CodeInvalid, Field: "content", Err: err,
		Message: "of gate " + string(g.ID) + " is not a " + reflect.TypeFor[T]().String(),
		Hint:    "the type has changed since it was approved: propose it again",
	}
	if edited {
		e.Hint = "the edit does not say what would run: propose it again, with a schema that admits no such edit"
	}
	return content, e
}

func refused(g *posthouse.Gate) error {
	d := g.Decision
	e := &posthouse.Error{
		Code: posthouse.CodeForbidden, Decision: d, Gate: g.ID, Message: "question " + g.Name + " was answered with " + string(d.Verdict) + " by " + d.By,
		Hint: "nothing was done",
	}
	switch d.Verdict {
	case posthouse.Expire:
		e.Code, e.Message = posthouse.CodeExpired, "nobody decided question "+g.Name+" in time"
		e.Hint = "ask it again (posthouse ask-again " + string(g.ID) + ")"
	case posthouse.Cancel:
		e.Code = posthouse.CodeCancelled
	}
	if d.Reason != "" {
		e.Message += ": " + d.Reason
	}
	return e
}
