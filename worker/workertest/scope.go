package workertest

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/handler"
	"github.com/posthouse/posthouse/internal/story"
	"github.com/posthouse/posthouse/task"
)

// A scope has what a handler recorded and was answered in this iteration. [Task.Again] hands
// it on.
type scope struct {
	mu       sync.Mutex
	steps    map[string]posthouse.Value // by name and number
	signals  map[string][]json.RawMessage
	answers  map[string][]posthouse.Decision // by question
	asked    []posthouse.Gate
	proposed []posthouse.Gate        // and decided, in this execution
	used     map[string]posthouse.ID // the grants of effects that ran
	calls    map[string]int
	open     bool // a wait is not over
	notes    story.Notebook
}

// Note implements [handler.Scope].
func (s *scope) Note(_ context.Context, n posthouse.Note) error { return s.notes.Add(&n) }

var _ handler.Scope = (*scope)(nil)

// again returns what the next execution finds: another iteration finds no steps.
func (s *scope) again(iteration bool) *scope {
	s.mu.Lock()
	defer s.mu.Unlock()
	if iteration {
		return &scope{steps: map[string]posthouse.Value{}}
	}
	return &scope{steps: maps.Clone(s.steps), signals: maps.Clone(s.signals), answers: maps.Clone(s.answers), used: maps.Clone(s.used)}
}

func (s *scope) waits() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open
}

func (s *scope) count(name string) int {
	n := s.calls[name]
	s.calls[name]++
	return n
}

// Do implements [handler.Scope].
func (s *scope) Do(ctx context.Context, name string, _ posthouse.Effect, fn func(context.Context) (posthouse.Value, error)) (posthouse.Value, error) {
	if err := handler.CheckName("step", name); err != nil {
		return posthouse.Value{}, err
	}
	s.mu.Lock()
	key := handler.Call(name, uint32(s.count("step "+name)))
	v, ok := s.steps[key]
	s.mu.Unlock()
	if ok {
		return v, nil
	}
	v, err := fn(ctx)
	if err != nil {
		return v, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	size := len(v.Data)
	for name, have := range s.steps {
		size += len(name) + len(have.Data)
	}
	switch {
	case len(v.Data) > task.MaxStep:
		return v, posthouse.TooLarge("step "+name, len(v.Data), task.MaxStep)
	case size > task.MaxSteps:
		return v, posthouse.TooLarge("steps", size, task.MaxSteps)
	}
	s.steps[key] = v
	return v, nil
}

// Ask implements [handler.Scope].
func (s *scope) Ask(g posthouse.Gate) (*posthouse.Gate, error) {
	if err := handler.CheckName("question", g.Name); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.count("question " + g.Name)
	s.asked = append(s.asked, g)
	if n >= len(s.answers[g.Name]) {
		s.open = true
		return nil, posthouse.ErrWaiting
	}
	d := s.answers[g.Name][n]
	g.Decision = &d
	return &g, nil
}

// Propose implements [handler.Scope].
func (s *scope) Propose(g posthouse.Gate, _ posthouse.ID) (*posthouse.Gate, error) {
	decided, err := s.Ask(g)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	decided.ID = posthouse.ID("gate-proposed-" + strconv.Itoa(len(s.proposed)+1))
	s.proposed = append(s.proposed, *decided.Clone())
	return decided, nil
}

// Replaced implements [handler.Scope]. A test has one version of its handler.
func (s *scope) Replaced(posthouse.ID) bool { return false }

// Act implements [handler.Scope]. It runs an effect once for its name and number, on what was
// approved; another effect than the question licenses is [posthouse.ErrForbidden].
func (s *scope) Act(ctx context.Context, a handler.Action) (v posthouse.Value, err error) {
	if err := errors.Join(handler.CheckName("step", a.Name), handler.CheckEffect(a.Name)); err != nil {
		return v, err
	}
	s.mu.Lock()
	key := handler.Call(a.Name, uint32(s.count("step "+a.Name)))
	have, ok := s.steps[key]
	var g *posthouse.Gate
	if i := slices.IndexFunc(s.proposed, func(g posthouse.Gate) bool { return g.ID == a.Grant }); i >= 0 {
		g = s.proposed[i].Clone()
	}
	s.mu.Unlock()
	switch {
	case g == nil:
		return v, &posthouse.Error{Code: posthouse.CodeForbidden, Field: "grant", Message: "gate " + string(a.Grant) + " is not one that this task's handler proposed"}
	case ok:
		return have, nil
	}
	if err := a.Fits(g); err != nil {
		return v, err
	}
	if a.Check != nil {
		if err := a.Check(ctx, g.Clone()); err != nil { // people would be asked again
			s.mu.Lock()
			defer s.mu.Unlock()
			s.open = true
			return v, posthouse.ErrWaiting
		}
	}
	s.mu.Lock()
	used := 0
	for _, grant := range s.used {
		if grant == a.Grant {
			used++
		}
	}
	s.mu.Unlock()
	if used >= g.Uses {
		return v, &posthouse.Error{
			Code: posthouse.CodeForbidden, Message: "the decision of gate " + string(g.ID) + " licensed " + strconv.Itoa(g.Uses) + " effect(s), and as many ran",
		}
	}
	v, err = a.Run(handler.WithKey(ctx, string(a.Grant)+"/"+key), g)
	if err != nil {
		return v, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.steps[key] = v
	if s.used == nil {
		s.used = map[string]posthouse.ID{}
	}
	s.used[key] = a.Grant
	return v, nil
}

// Signal implements [handler.Scope].
func (s *scope) Signal(name string, latch bool, _ time.Duration) (json.RawMessage, error) {
	if err := handler.CheckName("signal", name); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	have := s.signals[name]
	if latch && len(have) > 0 {
		return have[len(have)-1], nil
	}
	n := s.count("signal " + name)
	if n >= len(have) {
		s.open = true
		return nil, posthouse.ErrWaiting
	}
	return have[n], nil
}

// A Thread is what surrounds a task: who sends it signals, answers its questions and follows
// it.
type Thread struct{ t *Task }

// Thread returns what surrounds the task.
func (t *Task) Thread() Thread { return Thread{t} }

// Signal makes the next wait for a signal of the name return a value. It panics if that does
// not encode.
func (th Thread) Signal(name string, value any) {
	b, err := json.Marshal(value)
	if err != nil {
		panic("workertest: the signal does not encode: " + err.Error())
	}
	s := th.t.scope
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.signals == nil {
		s.signals = map[string][]json.RawMessage{}
	}
	s.signals[name] = append(slices.Clone(s.signals[name]), b)
}

// Answer decides the next question of a name that the handler asks.
func (th Thread) Answer(question string, d posthouse.Decision) {
	s := th.t.scope
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.answers == nil {
		s.answers = map[string][]posthouse.Decision{}
	}
	s.answers[question] = append(slices.Clone(s.answers[question]), d)
}

// Asked returns the questions that this execution asked, also those that were answered.
func (th Thread) Asked() []posthouse.Gate {
	s := th.t.scope
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

// Chunks returns what this execution streamed.
func (th Thread) Chunks() []json.RawMessage {
	th.t.mu.Lock()
	defer th.t.mu.Unlock()
	return slices.Clone(th.t.chunks)
}

// Sent returns the signals that this execution sent.
func (th Thread) Sent() []Sent {
	th.t.mu.Lock()
	defer th.t.mu.Unlock()
	return slices.Clone(th.t.signals)
}

// WaitSignal implements [worker.Task].
func (t *Task) WaitSignal(name string, timeout time.Duration) (json.RawMessage, error) {
	if err := t.reach(); err != nil {
		return nil, err
	}
	return t.scope.Signal(name, false, timeout)
}
