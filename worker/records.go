package worker

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/handler"
	"github.com/posthouse/posthouse/internal/story"
	"github.com/posthouse/posthouse/task"
)

// records are what an execution finds on record, and what it waits for. They are loaded when
// the handler first asks for one.
type records struct {
	e *execution

	mu    sync.Mutex
	have  *task.Records
	steps map[stepKey]posthouse.Value // of have
	calls map[string]uint32           // steps, signals and questions so far, by what they are counted by
	waits []task.Wait                 // all of them, in order, also those that are over

	failures failures
	open     bool // one of them is not over
}

var _ handler.Scope = (*records)(nil)

// A stepKey names the result of a step.
type stepKey struct {
	name       string
	occurrence uint32
}

// load returns what is on record. Callers hold r.mu.
func (r *records) load() (*task.Records, error) {
	if r.have != nil {
		return r.have, nil
	}
	var have *task.Records
	steps, failed := map[stepKey]posthouse.Value{}, map[stepKey]posthouse.Value{}
	for after, more := "", true; more; more = after != "" {
		var page *task.Records
		err := r.e.repeat(func(ctx context.Context) (err error) {
			page, err = r.e.run.worker.engine.Records(ctx, r.e.claim.ID, after)
			return err
		})
		if err != nil {
			return nil, err
		}
		for i := range page.Steps {
			s := &page.Steps[i]
			if s.Value.Codec == recordedFailure {
				failed[stepKey{s.Name, s.Occurrence}] = s.Value
				continue
			}
			if _, ok := steps[stepKey{s.Name, s.Occurrence}]; !ok { // the first one counts
				steps[stepKey{s.Name, s.Occurrence}] = s.Value
			}
		}
		if have == nil {
			have = page
		} else {
			have.Gates = append(have.Gates, page.Gates...)
		}
		after = page.Next
	}
	r.have, r.steps, r.calls, r.failures.have = have, steps, map[string]uint32{}, failed
	return r.have, nil
}

// count numbers a call among those that are counted together.
func (r *records) count(key string) uint32 {
	n := r.calls[key]
	r.calls[key]++
	return n
}

// Do implements [handler.Scope].
func (r *records) Do(ctx context.Context, name string, effect posthouse.Effect, fn func(context.Context) (posthouse.Value, error)) (posthouse.Value, error) {
	if err := handler.CheckName("step", name); err != nil {
		return posthouse.Value{}, err
	}
	r.mu.Lock()
	have, err := r.load()
	if err != nil {
		r.mu.Unlock()
		return posthouse.Value{}, err
	}
	s := task.StepResult{Name: have.Within + handler.Nested + name, Effect: effect}
	s.Occurrence = r.count(s.Name)
	recorded, ok := r.steps[stepKey{s.Name, s.Occurrence}]
	before := r.failures.received()
	failed, stands := r.failures.returned(stepKey{s.Name, s.Occurrence}, handler.Call(name, s.Occurrence))
	r.mu.Unlock()
	switch {
	case ok:
		return recorded, nil
	case stands:
		return posthouse.Value{}, failed
	}
	if effect == posthouse.EffectExternal && have.Grants {
		return posthouse.Value{}, posthouse.NeedsGrant(s.Name)
	}
	if err := r.e.Heartbeat(); err != nil {
		return posthouse.Value{}, err
	}
	acts := effect != posthouse.EffectPure && effect != posthouse.EffectRead
	if acts {
		if err := r.keepFailures(before); err != nil {
			return posthouse.Value{}, err
		}
	}
	notes, began := &story.Notebook{}, r.e.run.worker.opt.Now()
	s.Value, err = fn(handler.With(ctx, inStep{notes}))
	s.Took, s.Notes = r.e.run.worker.opt.Now().Sub(began), notes.Take()
	if err != nil {
		for i := range s.Notes { // they go with the verdict
			if r.e.notes.Add(&s.Notes[i]) != nil {
				break // it has as many as it may have
			}
		}
		r.addFailure(s, err)
		return posthouse.Value{}, err
	}
	err = r.e.repeat(func(ctx context.Context) error { return r.e.run.worker.engine.Record(ctx, r.e.claim.ID, s) })
	if err == nil && acts {
		r.acted(before)
	}
	return s.Value, err
}

// Ask implements [handler.Scope]. Questions of one name are told apart by what they show.
func (r *records) Ask(g posthouse.Gate) (*posthouse.Gate, error) { return r.Propose(g, "") }

// Propose implements [handler.Scope]. The engine leaves out approvals that license nothing here.
func (r *records) Propose(g posthouse.Gate, edited posthouse.ID) (*posthouse.Gate, error) {
	if err := handler.CheckName("question", g.Name); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	have, err := r.load()
	if err != nil {
		return nil, err
	}
	asked := g
	r.waits = append(r.waits, task.Wait{Question: &asked, Edited: edited})
	g.Name = have.Within + handler.Nested + g.Name
	content := g.Content()
	n := r.count(g.Name + "\x00" + string(content[:]))
	var found *posthouse.Gate
	for i := range have.Gates { // the last one counts
		if o := &have.Gates[i]; o.Name == g.Name && o.Occurrence == n && o.AsksPeople() && o.Content() == content {
			found = o
		}
	}
	if found == nil || found.Decision == nil {
		r.open = true
		r.waitsAfter()
		return nil, posthouse.ErrWaiting
	}
	return found, nil
}

// Replaced implements [handler.Scope].
func (r *records) Replaced(edited posthouse.ID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	have, err := r.load()
	return err == nil && slices.ContainsFunc(have.Gates, func(g posthouse.Gate) bool {
		return g.Supersedes == edited && slices.ContainsFunc(have.Gates, func(o posthouse.Gate) bool { return o.ID == edited && o.Name == g.Name })
	})
}

// Signal implements [handler.Scope].
func (r *records) Signal(name string, latch bool, timeout time.Duration) (json.RawMessage, error) {
	if err := handler.CheckName("signal", name); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	have, err := r.load()
	if err != nil {
		return nil, err
	}
	r.waits = append(r.waits, task.Wait{Signal: name, Latch: latch, Timeout: timeout})
	full := have.Within + handler.Nested + handler.SignalPrefix + name
	n := r.count(full)
	if v, ok := r.steps[stepKey{full, n}]; ok {
		return v.Data, nil
	}
	for i := range have.Gates {
		g := &have.Gates[i]
		if g.Name != full || g.Occurrence != n || g.Decision == nil {
			continue
		}
		switch g.Decision.Verdict {
		case posthouse.Respond:
			return g.Decision.Value, nil
		case posthouse.Expire:
			return nil, &posthouse.Error{
				Code: posthouse.CodeExpired, Decision: g.Decision,
				Message: "no signal " + name + " came before " + g.ExpiresAt.Format(time.RFC3339), Hint: "wait again, or go on without",
			}
		}
		return nil, &posthouse.Error{Code: posthouse.CodeCancelled, Decision: g.Decision, Message: "the wait for signal " + name + " was cancelled by " + g.Decision.By}
	}
	r.open = true
	r.waitsAfter()
	return nil, posthouse.ErrWaiting
}

// parked returns what the handler waits for, if it returned because of that.
func (r *records) parked(err error) []task.Wait {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.open || !errors.Is(err, posthouse.ErrWaiting) {
		return nil
	}
	return r.waits
}

// inStep refuses what a step's function records or waits for: its result stands for all.
type inStep struct{ notes *story.Notebook }

// Note implements [handler.Scope].
func (s inStep) Note(_ context.Context, n posthouse.Note) error { return s.notes.Add(&n) }

// Note implements [handler.Scope].
func (r *records) Note(_ context.Context, n posthouse.Note) error { return r.e.notes.Add(&n) }

func nestedError(what, name string) error {
	return &posthouse.Error{
		Code: posthouse.CodeUnsupported, Field: what, Message: name + " is within a step of a handler, whose result stands for all that it does",
		Hint: "call it beside the step",
	}
}

func (inStep) Do(_ context.Context, name string, _ posthouse.Effect, _ func(context.Context) (posthouse.Value, error)) (posthouse.Value, error) {
	return posthouse.Value{}, nestedError("step", name)
}

func (inStep) Ask(g posthouse.Gate) (*posthouse.Gate, error) {
	return nil, nestedError("question", g.Name)
}

func (inStep) Signal(name string, _ bool, _ time.Duration) (json.RawMessage, error) {
	return nil, nestedError("signal", name)
}
