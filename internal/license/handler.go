package license

import (
	"context"
	"errors"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/commit"
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
	Undone []posthouse.StepRecord // attempts that are known not to have acted
}

// Newest returns the last attempt that began, nil if no attempt did.
func (s *State) Newest() *posthouse.StepRecord {
	if len(s.Begun) == 0 {
		return nil
	}
	return &s.Begun[len(s.Begun)-1]
}

// IsOpen reports whether an attempt began and nothing else is known of it.
func (s *State) IsOpen() bool { return len(s.Begun) > len(s.Undone) }

// State returns how far an effect has come.
func (t *Task) State(u *handler.Use) *State {
	name := t.Within + handler.Nested + u.Name
	s := &State{Effect: handler.Call(name, u.Occurrence)}
	for i := range t.Steps {
		switch r := &t.Steps[i]; {
		case r.Value.Codec == threadlog.CodecFailed:
		case r.Name == name && r.Occurrence == u.Occurrence && s.Result == nil:
			s.Result = r
		case r.Name == s.Effect+handler.Nested+handler.UseReleased && int(r.Occurrence) == len(s.Begun):
			s.Begun = append(s.Begun, *r)
		case r.Name == s.Effect+handler.Nested+handler.UseFailed && int(r.Occurrence) == len(s.Undone):
			s.Undone = append(s.Undone, *r)
		}
	}
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
	Undone  bool            // its open attempts did not act
	Repeats bool            // its open attempts may have acted, and doing it again is safe

	// Happened is the gate with the result that people gave, and Before the one under which the
	// effect had run then. Other says that it ran on other content than the grant licenses.
	Happened, Before *posthouse.Gate
	Other            bool
}

// Resolve finds out whether an effect without a result may run, and asks where that is to be
// asked. An attempt of unknown outcome is settled before anything else. reconcile, if set, says
// what became of it if people were not asked: done with no error means that it happened.
func (t *Task) Resolve(ctx context.Context, q Questions, u *handler.Use, reconcile func(under *posthouse.Gate, attempt int) (done bool, err error)) (*Resolution, error) {
	g, err := t.Grant(u.Grant)
	if err != nil {
		return nil, err
	}
	s, out := t.State(u), &Resolution{}
	if s.IsOpen() {
		under, err := t.Under(ctx, s.Newest().Grant)
		if err != nil {
			return nil, err
		}
		if under == nil || under.Decision == nil {
			return nil, posthouse.NotFound("gate", s.Newest().Grant)
		}
		same := SameContent(under, g)
		asks, err := t.reader().Outcome(ctx, t.Core, q, u.Name, under, len(s.Begun), under.Licensed(), u.Schema)
		if err != nil {
			return nil, err
		}
		if _, asked := q.Asked(ctx, asks); u.Idempotent && same && !asked {
			out.Repeats = true
		} else {
			done := false
			if reconcile != nil && !asked {
				done, err = reconcile(under, len(s.Begun))
			} else {
				out.Happened, done, err = settled(ctx, q, asks)
			}
			if err != nil {
				return nil, err
			}
			if done {
				out.Before, out.Other = under, !same
				return out, nil
			}
			out.Happened, out.Undone = nil, true
		}
	}
	out.Under, err = Current(ctx, q, t.reader(), g, func(g *posthouse.Gate) (why, err error) {
		why, err = Stale(ctx, t.Core, g, t.Thread, t.Branch)
		if why == nil && u.Refused == g.ID {
			why = errors.New(u.Why)
		}
		return why, err
	})
	return out, err
}

// settled asks people about the outcome of an attempt. Done says that it happened; if it was given up,
// the error is that of [Refused].
func settled(ctx context.Context, q Questions, outcome posthouse.Gate) (decided *posthouse.Gate, done bool, err error) {
	decided, how, err := AskOutcome(ctx, q, outcome)
	if err == nil && how != posthouse.Happened && how != posthouse.Redo {
		err = Refused(decided)
	}
	return decided, how == posthouse.Happened, err
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
