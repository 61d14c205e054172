package license

import (
	"context"
	"errors"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/effect"
	"github.com/posthouse/posthouse/internal/handler"
	"github.com/posthouse/posthouse/internal/threadlog"
)

// A Task is what a task's handler has on record: that of the execution that handed it out.
type Task struct {
	Core           *commit.Committer
	Thread, Branch string // where the task is
	Within         string // begins the names of its records
	Steps          []posthouse.StepRecord
	Gates          []*posthouse.Gate
}

func (t *Task) reader() *Reader { return &Reader{Now: t.Core.Now, Gate: t.Core.Logs.Gate} }

// Finds reports whether the handler finds a gate as the answer of its question. An approval
// licenses effects where it was given only: elsewhere the handler proposes again.
func (t *Task) Finds(g *posthouse.Gate) bool {
	return g.Uses == 0 || g.Decision == nil || Here(g, t.Thread, t.Branch) == nil
}

// A State is how far an effect of a handler has come, on record.
type State struct {
	Effect string                // the call in full, as in "task:pay>pay[1]"
	Result *posthouse.StepRecord // nil without a result
	Begun  []posthouse.StepRecord
	Use    *effect.Use
}

// Newest returns the last attempt that began, nil if no attempt did.
func (s *State) Newest() *posthouse.StepRecord {
	if len(s.Begun) == 0 {
		return nil
	}
	return &s.Begun[len(s.Begun)-1]
}

// State returns how far an effect has come.
func (t *Task) State(u *handler.Use) *State {
	name := t.Within + handler.Nested + u.Name
	s := &State{Effect: handler.Call(name, u.Occurrence)}
	var within []*posthouse.StepRecord
	for i := range t.Steps {
		switch r := &t.Steps[i]; {
		case r.Value.Codec == threadlog.CodecFailed:
		case r.Name == name && r.Occurrence == u.Occurrence && s.Result == nil:
			s.Result = r
		case strings.HasPrefix(r.Name, s.Effect+handler.Nested):
			within = append(within, r)
			if r.Name == s.Effect+handler.Nested+effect.RecordBegins && int(r.Occurrence) == len(s.Begun) {
				s.Begun = append(s.Begun, *r)
			}
		}
	}
	s.Use = effect.Read(s.Effect, within, t.Gates)
	return s
}

// Grant returns the gate that a use names. It must be one that this task's handler proposed, and
// license effects. [posthouse.ErrForbidden].
func (t *Task) Grant(id posthouse.ID) (*posthouse.Gate, error) {
	for _, g := range t.Gates {
		if g.ID == id && strings.HasPrefix(g.Name, t.Within+handler.Nested) {
			return g, Never(g)
		}
	}
	return nil, &posthouse.Error{
		Code: posthouse.CodeForbidden, Field: "grant", Message: "gate " + string(id) + " is not one that this task's handler proposed",
		Hint: "propose the effect in the handler that acts (gate.Propose): approvals of others license nothing there",
	}
}

// Under returns the gate under which a record of the task ran. In a copy it is the original's, or
// the copy of that where it is gone; nil without any.
func (t *Task) Under(ctx context.Context, id posthouse.ID) (*posthouse.Gate, error) {
	g, err := t.Core.Logs.Gate(ctx, id)
	if !errors.Is(err, posthouse.ErrNotFound) {
		return g, err
	}
	for _, g := range t.Gates {
		if g.Origin == id && g.Decision != nil {
			return g, nil
		}
	}
	return nil, nil
}

// A Resolution is what the record and people say of an effect that has no result.
type Resolution struct {
	Under   *posthouse.Gate // that licenses it now, nil if it happened
	Repeats bool            // its open attempts may have happened, and doing it again is safe

	// Happened is the gate with the result that people gave, and Before the one under which the
	// effect had run then. Other says that it ran on other content than the grant licenses.
	Happened, Before *posthouse.Gate
	Other            bool
}

// Resolve finds out whether an effect without a result may run, and asks where that is to be
// asked. Attempts of unknown outcome are settled before anything else. reconcile, if set, says
// what became of them if people were not asked: done with no error means that it happened.
func (t *Task) Resolve(ctx context.Context, q Questions, u *handler.Use, reconcile func(under *posthouse.Gate, attempt int) (done bool, err error)) (*Resolution, error) {
	g, err := t.Grant(u.Grant)
	if err != nil {
		return nil, err
	}
	out := &Resolution{}
	if done, err := t.settle(ctx, q, u, g, reconcile, out); done || err != nil {
		return out, err
	}
	use := t.State(u).Use
	out.Under, err = Current(ctx, q, t.reader(), g, func(g *posthouse.Gate) (why, err error) {
		why, err = Stale(ctx, t.Core, g, t.Thread, t.Branch, use)
		switch {
		case why != nil || err != nil:
		case u.Refused == g.ID:
			why = errors.New(u.Why)
		case !u.Idempotent:
			why, err = MayBeDone(ctx, t.Core, g, t.Thread, t.Branch, use)
		}
		return why, err
	})
	return out, err
}

// settle finds out what became of the attempts on record, and reports whether the effect happened.
func (t *Task) settle(ctx context.Context, q Questions, u *handler.Use, g *posthouse.Gate, reconcile func(*posthouse.Gate, int) (bool, error), out *Resolution) (done bool, err error) {
	s := t.State(u)
	state := s.Use.State()
	if state == effect.Begun { // its end will not be known
		state = effect.Next(state, effect.Lost)
	}
	if state != effect.Unknown && state != effect.Done && state != effect.GivenUp {
		return false, nil
	}
	under, err := t.Under(ctx, s.Newest().Grant)
	if err != nil {
		return false, err
	}
	if under == nil || under.Decision == nil {
		return false, posthouse.NotFound("gate", s.Newest().Grant)
	}
	same := SameContent(under, g)
	asked, open := s.Use.Question()
	switch {
	case open:
		return false, q.Await(ctx, asked) // what is with people stays with them
	case state == effect.Unknown && u.Idempotent && same:
		out.Repeats = true
		return false, nil
	case state == effect.Unknown && reconcile != nil:
		done, err = reconcile(under, len(s.Begun))
		if err == nil && !done { // one look at an attempt that may still be under way says nothing
			err = t.askOutcome(ctx, q, u, under, s, errors.New("its program does not find that it was done"))
		}
	case state == effect.Unknown:
		return false, t.askOutcome(ctx, q, u, under, s, nil)
	default:
		out.Happened, err = t.Core.Logs.Gate(ctx, asked)
		if err == nil && state == effect.GivenUp {
			err = Refused(out.Happened)
		}
		done = state == effect.Done
	}
	if done && err == nil {
		out.Before, out.Other = under, !same
	}
	return done && err == nil, err
}

// askOutcome asks people about the attempts of an effect. It returns [posthouse.ErrWaiting].
func (t *Task) askOutcome(ctx context.Context, q Questions, u *handler.Use, under *posthouse.Gate, s *State, cause error) error {
	asks, err := t.reader().Outcome(ctx, t.Core, u.Name, under, len(s.Begun), under.Licensed(), u.Schema)
	if err != nil {
		return err
	}
	if text := s.Use.Error(); cause == nil && text != "" {
		cause = errors.New(text)
	}
	asks.Note = OutcomeNote(s.Use, cause)
	_, err = q.Ask(ctx, asks)
	if err == nil { // an answer that the reader of the effect does not count, as after a withdrawal
		err = posthouse.ErrWaiting
	}
	return err
}

// Recorded are the questions within an effect as they are on record: nothing is asked.
func (t *Task) Recorded(effect string) Questions { return &recorded{t: t, effect: effect} }

type recorded struct {
	t      *Task
	effect string
	count  map[string]uint32
}

// find returns the gate of the next question of a content, nil if there is no such
// question.
func (r *recorded) find(q *posthouse.Gate) (last *posthouse.Gate, n uint32, key string) {
	q.Name = r.effect + handler.Nested + q.Name
	content := q.Content()
	key = q.Name + "\x00" + string(content[:])
	n = r.count[key]
	for _, g := range r.t.Gates {
		if g.Name == q.Name && g.Occurrence == n && g.AsksPeople() && g.Content() == content {
			last = g
		}
	}
	return last, n, key
}

// Asked implements [Questions].
func (r *recorded) Asked(_ context.Context, q posthouse.Gate) (uint32, bool) {
	last, n, _ := r.find(&q)
	return n, last != nil && !last.Withdrawn()
}

// Await implements [Questions].
func (r *recorded) Await(context.Context, posthouse.ID) error { return posthouse.ErrWaiting }

// Ask implements [Questions].
func (r *recorded) Ask(_ context.Context, q posthouse.Gate) (*posthouse.Gate, error) {
	last, n, key := r.find(&q)
	if r.count == nil {
		r.count = map[string]uint32{}
	}
	r.count[key] = n + 1
	if last == nil || last.Decision == nil || last.Withdrawn() || r.t.Core.Rules.CheckReuse(&q, last) != nil ||
		q.Uses > 0 && Here(last, r.t.Thread, r.t.Branch) != nil {
		return nil, posthouse.ErrWaiting
	}
	return last, nil
}
