package standalone

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/task"
)

// Name is the flow's name: what the threads of such tasks say they are run by.
const Name = "posthouse.task"

// Prefix begins the names of their threads. A key follows it, or a new id.
const Prefix = "task-"

// maxKey bounds a key, in bytes.
const maxKey = 190

// A Starter starts tasks over one Ledger. It is safe for concurrent use.
type Starter struct {
	ledger *ledger.Ledger
	app    *flow.App[task.Start, json.RawMessage]
}

var _ task.Starter = (*Starter)(nil)

// Open returns a Starter over a Ledger.
func Open(l *ledger.Ledger) (*Starter, error) {
	app, err := flow.New(Name, handOut).Open(l, nil)
	if err != nil {
		return nil, err
	}
	return &Starter{ledger: l, app: app}, nil
}

// handOut is the flow.
func handOut(ctx context.Context, s task.Start) (json.RawMessage, error) {
	return step.RemoteWith[json.RawMessage](ctx, "run", s.Task, s.Input, runs.RemoteOptions{
		Group: s.Group, Limits: s.Limits, Start: s.After, Expires: s.Expires, Metadata: s.Metadata, Trace: s.Trace, Effect: s.Effect,
	})
}

// Program returns what a runner needs to end the threads of tasks that are over.
func (s *Starter) Program() posthouse.Program { return s.app }

// Start implements [task.Starter]. The task is on record when it returns.
func (s *Starter) Start(ctx context.Context, start task.Start, by string) (*task.Started, error) {
	if err := check(&start); err != nil {
		return nil, err
	}
	if acts := start.Effect == posthouse.EffectUnset || start.Effect == posthouse.EffectExternal; acts && s.ledger.Core().Rules.RequireGrants {
		return nil, needsGrant(start.Task)
	}
	id := start.Key
	if id == "" {
		id = string(ledger.NewID(s.ledger))
	}
	res, err := s.app.Run(ctx, Prefix+id, start, flow.RunOptions{Run: id, By: by, Coordination: start.Task})
	var failed *flow.Error
	if errors.As(err, &failed) { // it failed before, under this key
		return s.Outcome(ctx, Prefix+id)
	}
	if errors.Is(err, posthouse.ErrExists) {
		return nil, &posthouse.Error{
			Code: posthouse.CodeExists, Field: "key", Message: fmt.Sprintf("%q is of another task, which has thread %s", start.Key, Prefix+id), Err: err,
			Hint: "give what that task was given, or another --key",
		}
	}
	if err != nil {
		return nil, err
	}
	return startedOf(res), nil
}

// needsGrant is the error of a task that acts on the world. No decision can license it, since
// no program proposes it.
func needsGrant(name string) error {
	return &posthouse.Error{
		Code: posthouse.CodeForbidden, Field: "effect", Message: "task " + name + " acts on the world without a grant, and this ledger asks for one",
		Hint: "say that it is pure, read or write (--effect), or hand it out from a program, within gate.Act",
	}
}

// check checks all that would otherwise fail the thread once it is on record.
func check(s *task.Start) error {
	if len(s.Input) == 0 {
		s.Input = json.RawMessage("null")
	}
	if err := posthouse.CheckStrict("input", s.Input); err != nil {
		return err
	}
	input, err := json.Marshal(s.Input) // as it will be on record: without spaces, with escapes
	if err != nil {
		return posthouse.Invalid("input", "does not encode: %v", err)
	}
	if len(input) > task.MaxInput {
		return posthouse.TooLarge("input", len(input), task.MaxInput)
	}
	s.Input = input
	if s.Key != "" {
		if err := posthouse.ValidateName("key", s.Key); err != nil {
			return err
		}
		if len(s.Key) > maxKey {
			return posthouse.TooLarge("key", len(s.Key), maxKey)
		}
	}
	if s.Effect > posthouse.EffectExternal {
		return posthouse.Invalid("effect", "is %s; a task is pure, read, write or external", s.Effect)
	}
	for _, d := range []struct {
		field string
		have  time.Duration
	}{{"after", s.After}, {"expires", s.Expires}} {
		if d.have < 0 || d.have > task.MaxPause {
			return posthouse.Invalid(d.field, "is %s; it is 0 to 100 years", d.have)
		}
	}
	return commit.ValidateCall(&posthouse.Gate{
		Kind: posthouse.GateTask, Name: s.Task, Call: &posthouse.TaskCall{Task: s.Task, Group: s.Group, Limits: s.Limits, Metadata: s.Metadata, Trace: s.Trace},
	})
}

// Outcome implements [task.Starter].
func (s *Starter) Outcome(ctx context.Context, thread string) (*task.Started, error) {
	info, err := s.ledger.Thread(ctx, thread)
	if err != nil {
		return nil, err
	}
	if info.Graph != Name {
		e := posthouse.NotFound("task of thread", thread)
		e.Hint = "a program of yours runs that thread: look at it there"
		return nil, e
	}
	res, err := s.app.Result(ctx, thread)
	if err != nil {
		return nil, err
	}
	return startedOf(res), nil
}

func startedOf(res *flow.Result[json.RawMessage]) *task.Started {
	out := &task.Started{Thread: res.Thread, Status: res.Status, Output: res.Output, Error: res.Error}
	for i := range res.Waiting {
		if g := &res.Waiting[i]; g.Kind == posthouse.GateTask && g.Decision == nil {
			out.Gate = g.ID
		}
	}
	return out
}
