package gate

import (
	"cmp"
	"context"
	"encoding/json"
	"reflect"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/strictjson"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/handler"
)

// An Answer is what was decided.
type Answer[T any] struct {
	Gate    posthouse.ID      // the question's id
	Verdict posthouse.Verdict // one that the question allows, expire or cancel
	Value   T                 // of an edit or a response; the zero T otherwise
	Raw     json.RawMessage   // Value as it was given; nil if the answer has no value, null if null was given

	// By is who decided: a person, "posthouse" for a passed deadline, or
	// "policy:..." for [Auto]. For a quorum it is the person who cast the
	// deciding vote.
	By     string
	For    string    // owner of the right they used, if it was delegated
	Reason string    // why, if said
	At     time.Time // when, by the Ledger's clock

	Votes []posthouse.Decision // of a quorum, oldest first
}

// Approved reports a yes: approve, or edit, which is a yes to other values.
func (a Answer[T]) Approved() bool {
	return a.Verdict.IsYes()
}

// Ask returns the decision of a question, or [posthouse.ErrWaiting] while it is
// open: return that, wrapped or not. It can be called below a node, flow or
// handler, also inside a step.
//
// A deadline that passes is the verdict expire, a withdrawn question cancel: both are
// answers, not errors. Errors: [posthouse.ErrInvalid] for a malformed question, outside
// any task, and for a recorded value that T cannot hold; [posthouse.ErrUnsupported] for a
// question with a schema over a Ledger without a validator ([ledger.Ledger.Commit]); and
// those of reading and writing the log.
func Ask[T any](ctx context.Context, q Question) (Answer[T], error) {
	var a Answer[T]
	if h, ok := handler.From(ctx); ok {
		return askInHandler[T](h, &q)
	}
	task, err := engine.TaskOf(ctx, "question "+q.Name)
	if err != nil {
		return a, err
	}
	g, err := q.asGate(ctx, task, reflect.TypeFor[T]())
	if err != nil {
		return a, err
	}
	task.Gates().Expect(ctx, g, readsAnswer[T])
	decided, err := q.decided(ctx, task, g)
	if err != nil {
		return a, err
	}
	return answer[T](decided)
}

// readsAnswer returns why a value is no answer of a question: T cannot hold it, or it has a member
// in another spelling than T.
func readsAnswer[T any](_ posthouse.Verdict, value json.RawMessage) error {
	var content T
	t := reflect.TypeFor[T]()
	if err := posthouse.JSON.Unmarshal(value, &content); err != nil {
		if at, why := misfit(value, t); why != "" {
			return posthouse.Invalid("value", "has a %s that %s", whole(at), why)
		}
		return err
	}
	if name, is := strictjson.Respelled(value, t); is {
		return posthouse.Invalid("value", "has a member %.40q that a %s has in another spelling: write %s", name, t, strictjson.Describe(t))
	}
	return nil
}

// asGate returns the question as a task puts it.
func (q *Question) asGate(ctx context.Context, task *engine.Task, t reflect.Type) (posthouse.Gate, error) {
	named := q.RequestedBy != ""
	q.RequestedBy = cmp.Or(q.RequestedBy, engine.Sender(ctx)) // as task.Ask does, for what is checked before
	l := task.Session().Ledger()
	g, err := q.gate(t, l.Now())
	g.Record.Named = named
	if err == nil {
		err = l.Core().Rules.MayOpen(&g)
	}
	return g, err
}

// decided returns the gate with its decision, which people or the question's policy took.
func (q *Question) decided(ctx context.Context, task *engine.Task, g posthouse.Gate) (*posthouse.Gate, error) {
	if number, before := task.Gates().Asked(ctx, g); !before { // else it is with people already
		decided, err := q.Auto.decide(ctx, task, number, &g)
		if err != nil || decided != nil {
			return decided, err
		}
	}
	decided, err := task.Gates().Ask(ctx, g)
	if err == nil && decided.Decision.Verdict == posthouse.Expire {
		return q.Auto.late(ctx, task, g, decided)
	}
	return decided, err
}

// askInHandler is [Ask] for a handler: the engine asks when the task is parked. Policies
// are for programs.
func askInHandler[T any](h handler.Scope, q *Question) (a Answer[T], err error) {
	if q.Auto != nil {
		return a, noAuto(q)
	}
	g, err := q.gate(reflect.TypeFor[T](), handler.Epoch)
	if err != nil {
		return a, err
	}
	decided, err := h.Ask(g)
	if err != nil {
		return a, err
	}
	return answer[T](decided)
}

func noAuto(q *Question) error {
	return &posthouse.Error{
		Code: posthouse.CodeUnsupported, Field: "Auto", Message: "of question " + q.Name + " is not for handlers",
		Hint: "ask it in the program that hands the task out, or decide in the handler whether to ask",
	}
}

func answer[T any](g *posthouse.Gate) (Answer[T], error) {
	d := g.Decision
	a := Answer[T]{Gate: g.ID, Verdict: d.Verdict, Raw: d.Value, By: d.By, For: d.For, Votes: g.Votes, Reason: d.Reason, At: d.At}
	if len(d.Value) == 0 {
		return a, nil
	}
	if err := posthouse.JSON.Unmarshal(d.Value, &a.Value); err != nil {
		return a, &posthouse.Error{
			Code: posthouse.CodeInvalid, Field: "value", Err: err,
			Message: "of gate " + string(g.ID) + " does not fit a " + reflect.TypeFor[T]().String(),
			Hint:    "the type has changed since it was decided; read such answers with Ask[any], or fork and ask again",
		}
	}
	return a, nil
}
